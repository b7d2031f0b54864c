package instance

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A Keeper runs one fleet of projectors after another. The process outlives the end of a fleet.
// Make one, call Start and then Run, each once; Fleet is safe for concurrent use.
type Keeper struct {
	Config     projector.Config
	Partitions schema.Partitions
	Tables     shardmap.Tables // to which the retention of the installation is applied
	// Waits reports whether to try again after a pause for an error, instead of ending. A
	// person has to act, and the process is useful until then. Nil ends with every error but a
	// lost lease.
	Waits func(error) bool
	// Pause is that time. Required with Waits.
	Pause time.Duration
	// Told is told of each error that is waited for, once until it is another. Nil
	// is not.
	Told func(error)

	current atomic.Pointer[projector.Fleet]
}

// Start makes the first fleet.
func (k *Keeper) Start() error {
	f, err := projector.NewFleet(k.Config, k.Partitions)
	k.current.Store(f)
	return err
}

// Fleet returns the one that runs or ran last.
func (k *Keeper) Fleet() *projector.Fleet { return k.current.Load() }

// Run projects until ctx ends, until it is caught up if so configured, or until an error that
// is not waited for. Where ctx ends during such a wait it returns the error. A projector
// without the lease waits for it.
func (k *Keeper) Run(ctx context.Context) error {
	if !k.Config.UntilCaughtUp {
		defer k.retain(ctx)()
	}
	said := ""
	for {
		err := k.Fleet().Run(ctx)
		switch {
		case errors.Is(err, lease.ErrLost):
		case err != nil && k.Waits != nil && k.Waits(err):
			if k.Told != nil && err.Error() != said {
				said = err.Error()
				k.Told(err)
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(k.Pause):
			}
		default:
			return err
		}
		if err := k.Start(); err != nil {
			return err
		}
	}
}

// retain applies the retention of the installation until ctx ends or stop is called.
func (k *Keeper) retain(ctx context.Context) (stop func()) {
	c := k.Config
	pass := retention.Pass{JetStream: c.JetStream, Tables: k.Tables, Owner: cmp.Or(c.Owner, uuid.NewString()), Timing: c.Timing, Log: c.Log, Metrics: c.Metrics}
	ctx, cancel := context.WithCancel(ctx)
	var passes sync.WaitGroup
	passes.Go(func() { pass.Follow(ctx) })
	return func() {
		cancel()
		passes.Wait()
	}
}

// Alarming reports whether err means lost events or another stream. Waiting mends neither, and
// the status must show the error.
func Alarming(err error) bool {
	return errors.Is(err, streamio.ErrStreamForked) || errors.Is(err, streamio.ErrEventsExpired)
}
