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
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// permanent are the errors of this package that need a person, or another
// process, and the one that no reconnect follows.
var permanent = []error{
	lease.ErrLost, streamio.ErrStreamForked, streamio.ErrEventsExpired, streamio.ErrNewerRules, streamio.ErrNoRules, streamio.ErrNoStream, decode.ErrNoSecret, streamio.ErrNoIncarnation, lease.ErrNoBucket, lease.ErrEntry,
	nats.ErrConnectionClosed,
}

// transient reports whether err may be gone when what failed is tried again.
// Unknown errors are: to try again loses nothing, to give up might.
func transient(err error) bool {
	for _, p := range permanent {
		if errors.Is(err, p) {
			return false
		}
	}
	return ledger.Transient(err)
}

// persist repeats what until it succeeds, ctx ends or the error is one that
// waiting does not mend. Attempts that lasted longer than the longest pause
// were under way, so the next one starts soon.
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

// A clock draws by how much a pause is longer than it must be.
type clock interface {
	jitter(below time.Duration) time.Duration
}

type systemClock struct{}

func (systemClock) jitter(below time.Duration) time.Duration { return rand.N(below) }
