package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// permanent lists the errors of this package that need a person or another process, and the
// error of a closed connection.
var permanent = []error{
	lease.ErrLost, streamio.ErrStreamForked, streamio.ErrEventsExpired, streamio.ErrNewerRules, streamio.ErrNoRules, streamio.ErrNoStream, decode.ErrNoSecret, streamio.ErrNoIncarnation, lease.ErrNoBucket, lease.ErrEntry,
	nats.ErrConnectionClosed, shardmap.ErrMoved, shardmap.ErrSwitching,
}

// transient reports whether a retry may succeed after err. Unknown errors count as transient: a
// retry loses nothing, giving up might.
func transient(err error) bool {
	for _, p := range permanent {
		if errors.Is(err, p) {
			return false
		}
	}
	return ledger.Transient(err)
}

// persist repeats what until it succeeds, ctx ends or the error is permanent. The pause grows
// with each attempt. After an attempt that lasted longer than the longest pause, the pause is
// short again.
func (s *shared) persist(ctx context.Context, verb string, what func() error) error {
	const shortest, longest = 50 * time.Millisecond, 5 * time.Second
	for delay := shortest; ; delay = min(2*delay, longest) {
		began := time.Now()
		err := what()
		if err == nil {
			s.succeeded()
			return nil
		}
		if !transient(err) {
			return fmt.Errorf("%s: %w", verb, err)
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if time.Since(began) > longest {
			delay = shortest
		}
		s.failed(cmp.Or(steps.Failed(err), verb), err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(delay/2 + s.clock.jitter(delay)):
		}
	}
}

// A clock draws the random part of a pause.
type clock interface {
	jitter(below time.Duration) time.Duration
}

type systemClock struct{}

func (systemClock) jitter(below time.Duration) time.Duration { return rand.N(below) }
