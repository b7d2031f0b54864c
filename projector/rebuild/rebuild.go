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

// Rebuild projects the streams again into a second set of tables, compares both sets, and
// replaces the live set by the new one. The live tables remain readable. The live projector
// runs until the swap, for which it hands over its lease. A crash in a state leaves the set to
// the process on the right:
//
//	made       tables with the rows of expired messages   the next rebuild drops it
//	projected  with a separate lease and journal          the next rebuild resumes it
//	compared   nothing is written                         the next rebuild resumes it
//	held       the rebuild has the leases                 they expire; the next rebuild resumes it
//	swapping   tables are exchanged one by one            the next writer, a projector or a
//	                                                      rebuild, finishes the swap
//	swapped    the replaced tables are dropped            the next writer drops them
//
// A stream that begins after the first rows of the tables keeps these rows. Messages that were
// deleted for a withheld value are quarantined again from their copies in the quarantine
// stream. A message that was too large for a copy has a row without its bytes. A message that
// somebody deleted from the stream is in no rebuilt table.
type Rebuild struct {
	// JetStream holds the streams of events. Required.
	JetStream jetstream.JetStream
	// Ledger is the ledger with the live tables. On a cluster it is one shard. Required.
	Ledger *ledger.Ledger
	// Streams names the streams that are projected to the ledger. Empty means all streams of events.
	Streams []string
	// Shards are the ledgers of a cluster that have other streams. Their redactions are in force for the
	// messages after them. Empty for a plain ledger.
	Shards []*ledger.Ledger
	// Keys returns the tenants' key rings. Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Ring returns the ledger's key ring. The rebuilt transparency log begins with the same
	// event as the live one. If the ledger has none, the rebuilt one covers all events, and the
	// tables differ. With the secret of another ring all salts and leaves differ.
	Ring func() (proof.Ring, error)
	// CompareOnly drops the rebuilt tables after the comparison, and changes nothing else.
	CompareOnly bool
	// Accept swaps even if the tables differ, because the streams count.
	Accept bool
	// Progress receives the number of finished messages, several times a second. May be nil.
	Progress func(done, total uint64)
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger

	// Projector makes the projectors that fill the second set of tables. Required.
	Projector func(Target) (Projector, error)
	// BatchMessages closes a batch. 0 means the projector's default.
	BatchMessages int
	// Timing is the timing of the leases. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Steps runs the steps of the rebuild. Nil runs them in order.
	Steps steps.Walker
}

// A Target names the stream and the tables of one projector of a rebuild.
type Target struct {
	Rebuild
	Stream    string
	Set       *ledger.Ledger // the second set of tables
	Owner     string
	FirstLeaf uint64 // the sequence of the first event with a leaf in the live transparency log
	// Gone returns the messages that were deleted from the stream for a withheld value since a time, in
	// order. The live projector deletes more of them while the rebuild runs.
	Gone streamio.Gone
	// Through returns the last sequence to project, or 0 for the end of the stream. Nil is 0.
	Through func() uint64
}

// A Projector fills the second set of tables from one stream.
type Projector interface {
	// Run projects until the tables are level with the stream. Run may be repeated.
	Run(ctx context.Context) error
	// Progress returns the last committed sequence, and the number of messages that have become
	// rows. Progress is safe for concurrent use.
	Progress() (committed, messages uint64)
}

// ErrDiffer means that the rebuilt tables differ from the live ones. They remain, and the next
// rebuild resumes with them.
var ErrDiffer = errors.New("the rebuilt tables differ from the live ones")

// Rebuilt is the result of a rebuild.
type Rebuilt struct {
	Finished bool            // only finished the interrupted swap of an earlier rebuild
	Resumed  bool            // resumed an earlier rebuild
	Swapped  bool            // the rebuilt tables are now the live ones
	From     []shadow.Start  // where the streams begin; older rows were kept
	Compared shadow.Compared // up to the last commit of the live tables
	Messages uint64          // projected messages

	// The durations of the rebuild, of projecting, and of the swap. During the swap nothing is
	// projected into the live tables. Compared has a separate duration.
	Took, Projecting, Swapping time.Duration
}

// Run rebuilds. Only one rebuild runs at a time, and another one waits. Run may be repeated
// after every error. Errors: [ErrDiffer], and [streamio.ErrEventsExpired] and
// [streamio.ErrStreamForked] if a stream changed during the rebuild. After a change of a stream
// the rebuilt tables are dropped.
func (r Rebuild) Run(ctx context.Context) (Rebuilt, error) {
	if r.JetStream == nil || r.Ledger == nil || r.Projector == nil {
		return Rebuilt{}, errors.New("rebuild: JetStream, Ledger and Projector are required")
	}
	return withDefaults(r).run(ctx)
}

func withDefaults(r Rebuild) Rebuild {
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Timing == (lease.Timing{}) {
		r.Timing = lease.DefaultTiming
	}
	if r.Steps == nil {
		r.Steps = steps.InOrder{}
	}
	return r
}

// ErrReplicas refuses tables that several servers have. ClickHouse exchanges the names of replicated tables, but
// not their places in Keeper, and on one server after the other. Nothing was changed.
var ErrReplicas = errors.New("replicated tables cannot be rebuilt or moved yet: run `ctxledger query checks` and `ctxledger doctor` to check them")

// run is Run with all settings.
func (r Rebuild) run(ctx context.Context) (done Rebuilt, err error) {
	if ledger.Replicated(r.Ledger) {
		return done, ErrReplicas
	}
	began := time.Now()
	defer func() { done.Took = time.Since(began) }()
	kv, err := lease.OpenBucket(ctx, r.JetStream)
	if errors.Is(err, lease.ErrNoBucket) {
		return done, err
	}
	if err != nil {
		return done, fmt.Errorf("open the lease bucket: %w", err)
	}
	owner := uuid.NewString()
	lock, held, err := lease.Claim{KV: kv, Key: lease.RebuildKey, Owner: owner, Timing: r.Timing, Log: r.Log}.Request(ctx)
	if err != nil {
		return done, err
	}
	defer lock.End(ctx, nil)
	if done.Finished, err = shadow.Of(r.Ledger).FinishSwap(held); err != nil || done.Finished {
		return done, err
	}
	var w *rebuilding
	err = r.walk(held, steps.Step{Verb: "make", Do: func(ctx context.Context) (err error) {
		set, err := shadow.Of(r.Ledger).Beside(ctx)
		if err == nil {
			w, err = r.prepare(ctx, kv, owner, set)
		}
		return err
	}})
	if err != nil {
		return done, err
	}
	defer w.set.Close()
	done.From, done.Resumed = w.starts, w.resumed
	err = w.work(held, &done)
	if errors.Is(err, streamio.ErrEventsExpired) || errors.Is(err, streamio.ErrStreamForked) {
		return done, fmt.Errorf("a stream changed during the rebuild, so the rebuilt tables were dropped: run the rebuild again: %w", errors.Join(err, w.set.Drop(ctx)))
	}
	return done, err
}

// walk runs steps in order.
func (r Rebuild) walk(ctx context.Context, list ...steps.Step) error {
	return r.Steps.Walk(ctx, list, steps.Take)
}
