package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Rebuild projects the streams again into a second set of tables,
// holds the two against each other and puts the new set in the place of the live
// one. The live tables answer throughout, and the live projector goes on until the
// moment of the swap, for which it hands over its lease.
//
//	made       tables, with what no stream brings again   dropped by the next rebuild
//	projected  like any projector, lease and journal too  gone on with by the next
//	compared   nothing is written                         gone on with by the next
//	held       the leases are the rebuild's: no writer    they expire; gone on with
//	swapping   tables are exchanged one by one            finished by the next who
//	                                                      writes, projector or rebuild
//	swapped    the replaced tables are dropped            dropped by the same
//
// A crash leaves what stands on the right.
//
// A stream that begins later than the tables keeps their older rows. Messages that
// are gone for a withheld value are refused again by their copies in the quarantine
// stream; one that was too large for a copy has its row without its bytes. What
// somebody deleted from the stream is in no rebuilt table, whatever the live ones
// say.
type Rebuild struct {
	// JetStream is where the events are. Required.
	JetStream jetstream.JetStream
	// Ledger is the live tables. Required.
	Ledger *ledger.Ledger
	// Keys is as in Config.
	Keys func() ([]schema.KeyRing, error)
	// Ring is as in Config. A ledger that has a log is rebuilt with it, from the same
	// event on; where it has none, one of all events is made, and the tables differ.
	// With the secret of another ring every salt and leaf is another.
	Ring func() (proof.Ring, error)
	// CompareOnly drops the rebuilt tables once they were compared, and changes
	// nothing else.
	CompareOnly bool
	// Accept swaps although the tables differ: the streams are the truth.
	Accept bool
	// Progress is told how many of the messages are done, some times a second. Nil
	// is not told.
	Progress func(done, total uint64)
	// Log gets what a person would want to know. Nil discards it.
	Log *slog.Logger

	// Projector makes the projectors that fill the second set of tables. Required.
	Projector func(Target) (Projector, error)
	// BatchMessages closes a batch. 0 is the projector's own limit.
	BatchMessages int
	// Timing is that of the leases. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Steps takes the steps of the rebuild. Nil takes them in their order.
	Steps steps.Walker
}

// A Target is what one projector of a rebuild reads and fills.
type Target struct {
	Rebuild
	Stream    string
	Set       *ledger.Ledger // the second set of tables
	Owner     string
	FirstLeaf uint64              // the first event with a leaf in the live transparency log
	Gone      []*streamio.Message // deleted from the stream for a withheld value, in order
}

// A Projector fills the second set of tables from one stream.
type Projector interface {
	// Run projects until the tables are level with the stream. It may be called again.
	Run(ctx context.Context) error
	// Progress returns the last committed sequence, and how many messages have become
	// rows; safe to call at any time from any goroutine.
	Progress() (committed, messages uint64)
}

// ErrDiffer means that the rebuilt tables are not the live ones. They stay, for
// the next rebuild to go on with.
var ErrDiffer = errors.New("the rebuilt tables differ from the live ones")

// Rebuilt is what a rebuild has done.
type Rebuilt struct {
	Finished bool            // only the swap of an earlier one, which was cut off
	Resumed  bool            // went on with what an earlier one had left
	Swapped  bool            // the rebuilt tables are the live ones
	From     []shadow.Start  // where the streams begin: older rows were kept
	Compared shadow.Compared // up to what the live tables had
	Messages uint64          // projected

	// How long it took: in all, to project, and from when it had the leases, so
	// that nothing was projected into the live tables. Compared has its own.
	Took, Projecting, Swapping time.Duration
}

// Run rebuilds. Only one runs at a time; another waits. It may be run again after
// whatever end. Errors: [ErrDiffer]; [streamio.ErrEventsExpired] and
// [streamio.ErrStreamForked] where
// a stream changed meanwhile, then what was rebuilt is dropped.
func (r Rebuild) Run(ctx context.Context) (done Rebuilt, err error) {
	began := time.Now()
	defer func() { done.Took = time.Since(began) }()
	if r.JetStream == nil || r.Ledger == nil || r.Projector == nil {
		return done, errors.New("rebuild: JetStream, Ledger and Projector are required")
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Timing == (lease.Timing{}) {
		r.Timing = lease.DefaultTiming
	}
	if r.Steps == nil {
		r.Steps = steps.InOrder{}
	}
	kv, err := lease.OpenBucket(ctx, r.JetStream)
	if errors.Is(err, lease.ErrNoBucket) {
		return done, err
	}
	if err != nil {
		return done, fmt.Errorf("open the lease bucket: %w", err)
	}
	owner := uuid.NewString()
	lock, held, err := lease.Claim{KV: kv, Key: "rebuild", Owner: owner, Timing: r.Timing, Log: r.Log}.Request(ctx)
	if err != nil {
		return done, err
	}
	defer r.release(ctx, lock)
	if done.Finished, err = shadow.Of(r.Ledger).FinishSwap(held); err != nil || done.Finished {
		return done, err
	}
	var w *rebuilding
	err = r.walk(held, steps.Step{Verb: "make", Do: func(ctx context.Context) (err error) {
		w, err = r.prepare(ctx, kv, owner)
		return err
	}})
	if err != nil {
		return done, err
	}
	defer w.set.Close()
	done.From, done.Resumed = w.starts, w.resumed
	err = w.work(held, &done)
	if errors.Is(err, streamio.ErrEventsExpired) || errors.Is(err, streamio.ErrStreamForked) {
		return done, fmt.Errorf("a stream changed during the rebuild, which is dropped, run it again: %w", errors.Join(err, w.set.Drop(ctx)))
	}
	return done, err
}

// walk takes steps in their order.
func (r Rebuild) walk(ctx context.Context, list ...steps.Step) error {
	return r.Steps.Walk(ctx, list, steps.Take)
}

func (r Rebuild) release(ctx context.Context, l *lease.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		r.Log.Warn("the lease was not released and has to expire", "event", "lease_not_released", "error", err)
	}
}
