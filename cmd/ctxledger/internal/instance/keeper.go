package instance

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A Keeper runs one fleet of projectors after another. The process outlives the end of a fleet. A
// fleet ends when the list of streams changes, because a tenant got streams of its own.
// Make one, call Start and then Run, each once; Fleet is safe for concurrent use.
type Keeper struct {
	Config  projector.Config
	Streams []string        // the names of the streams of events, by [streamio.ReadStreams]
	Tables  shardmap.Tables // to which the retention of the installation is applied
	// Reopen opens the tables again after a partition has moved to another shard. Nil for a plain ledger.
	Reopen func(context.Context) (shardmap.Tables, error)
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
	if k.Tables.OnCluster() {
		k.Config.Shards, k.Config.Placed = k.Tables.Ledgers(k.Streams), k.Tables.Placed(k.Config.JetStream)
		k.Config.Ledger = k.Config.Shards[0]
	}
	f, err := projector.NewFleet(k.Config, k.Streams)
	k.current.Store(f)
	return err
}

// Fleet returns the one that runs or ran last.
func (k *Keeper) Fleet() *projector.Fleet { return k.current.Load() }

// Run projects until ctx ends, until it is caught up if so configured, or until an error that
// is not waited for. Where ctx ends during such a wait it returns the error. A projector
// without the lease waits for it.
func (k *Keeper) Run(ctx context.Context) error {
	said := ""
	for {
		next, err := k.follow(ctx)
		switch {
		case next != nil:
			k.Streams = next
			cmp.Or(k.Config.Log, slog.New(slog.DiscardHandler)).Info("the streams of events have changed, and are projected anew", "event", "streams_changed", "streams", len(next))
		case errors.Is(err, lease.ErrLost):
		case errors.Is(err, shardmap.ErrMoved) && k.Reopen != nil:
			if err := k.reopen(ctx); err != nil {
				return err
			}
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

// lookEvery is the pause between two looks at the list of streams.
const lookEvery = 3 * time.Second

// follow runs the fleet, and the retention next to it, until the fleet ends, a partition moves to another shard, or
// the list of streams has changed. It then returns the new list.
func (k *Keeper) follow(ctx context.Context) (next []string, err error) {
	if !k.Config.UntilCaughtUp {
		defer k.retain(ctx)()
	}
	running, stop := context.WithCancelCause(ctx)
	var watches sync.WaitGroup
	if !k.Config.UntilCaughtUp {
		watches.Go(func() {
			if next = k.awaitStreams(running); next != nil {
				stop(nil)
			}
		})
	}
	if k.Reopen != nil {
		watches.Go(func() { stop(k.Tables.AwaitMove(running, k.Config.JetStream)) })
	}
	err = k.Fleet().Run(running)
	stop(nil)
	watches.Wait()
	if moved := context.Cause(running); errors.Is(moved, shardmap.ErrMoved) {
		err = errors.Join(err, moved)
	}
	return next, err
}

// awaitStreams waits until the list of streams has changed, and returns the new one. It returns nil when ctx ends.
func (k *Keeper) awaitStreams(ctx context.Context) []string {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			list, err := streamio.ReadStreams(ctx, k.Config.JetStream)
			if names := streamio.StreamNames(list); err == nil && !slices.Equal(names, k.Streams) {
				return names
			}
		}
	}
}

// reopenPause is the pause after a shard did not answer.
const reopenPause = time.Second

// reopen opens the tables again. It waits for shards that do not answer.
func (k *Keeper) reopen(ctx context.Context) error {
	for {
		t, err := k.Reopen(ctx)
		if err == nil {
			k.Tables = t
			return nil
		}
		if !errors.Is(err, cluster.ErrShard) && !errors.Is(err, ledger.ErrUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(reopenPause):
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
