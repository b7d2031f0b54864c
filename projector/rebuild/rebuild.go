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
	"github.com/ctxledger/ctxledger/projector/decode"
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
	JetStream     jetstream.JetStream
	Stream        string
	Ledger        *ledger.Ledger // the second set of tables
	Live          *ledger.Ledger // the live one
	Owner         string
	Keys          func() ([]schema.KeyRing, error)
	Ring          func() (proof.Ring, error)
	FirstLeaf     uint64              // the first event with a leaf in the live transparency log
	Gone          []*streamio.Message // deleted from the stream for a withheld value, in order
	Harmless      bool                // nothing is deleted from the stream
	BatchMessages int
	Timing        lease.Timing
	Steps         steps.Walker
	Log           *slog.Logger
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
	From     []ledger.Start  // where the streams begin: older rows were kept
	Compared ledger.Compared // up to what the live tables had
	Messages uint64          // projected

	// How long it took: in all, to project, and from when it had the leases, so
	// that nothing was projected into the live tables. Compared has its own.
	Took, Projecting, Swapping time.Duration
}

// Run rebuilds. Only one runs at a time; another waits. It may be run again after
// whatever end. Errors: [ErrDiffer]; [ErrEventsExpired] and [ErrStreamForked] where
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
	if done.Finished, err = r.Ledger.FinishSwap(held); err != nil || done.Finished {
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

// rebuilding is one rebuild with its set of tables.
type rebuilding struct {
	Rebuild
	kv         jetstream.KeyValue
	owner      string
	set        *ledger.Beside
	starts     []ledger.Start
	projectors []Projector    // one a stream
	leases     []*lease.Lease // of the streams, once they are held
	resumed    bool
}

// prepare opens the set that an earlier rebuild has left, or makes one, and the
// projectors that fill it.
func (r Rebuild) prepare(ctx context.Context, kv jetstream.KeyValue, owner string) (*rebuilding, error) {
	w := &rebuilding{Rebuild: r, kv: kv, owner: owner}
	partitions, err := streamio.ReadPartitions(ctx, r.JetStream)
	if err != nil {
		return nil, err
	}
	for _, s := range partitions.EventStreams() {
		stream, incarnation, err := streamio.OpenStream(ctx, r.JetStream, s.Name)
		if err != nil {
			return nil, err
		}
		w.starts = append(w.starts, ledger.Start{Stream: s.Name, Incarnation: incarnation, First: max(1, stream.CachedInfo().State.FirstSeq)})
	}
	if w.set, err = r.Ledger.Beside(ctx); err != nil {
		return nil, err
	}
	if w.resumed, err = w.set.Open(ctx, w.starts); err != nil {
		return nil, err
	}
	if !w.resumed {
		if err := w.set.Make(ctx, w.starts); err != nil {
			return nil, err
		}
	}
	gone, err := readGone(ctx, r.JetStream)
	if err != nil {
		return nil, err
	}
	for _, s := range w.starts {
		first, found, err := r.Ledger.LogStart(ctx, s.Incarnation)
		switch {
		case err != nil:
			return nil, err
		case found && r.Ring == nil:
			return nil, decode.ErrNoSecret
		}
		p, err := r.Projector(Target{
			JetStream: r.JetStream, Stream: s.Stream, Ledger: w.set.Ledger, Live: r.Ledger, Owner: owner, Keys: r.Keys, Ring: r.Ring,
			FirstLeaf: first, Gone: gone[s.Incarnation], Harmless: r.CompareOnly, BatchMessages: r.BatchMessages, Timing: r.Timing, Steps: r.Steps, Log: r.Log,
		})
		if err != nil {
			return nil, err
		}
		w.projectors = append(w.projectors, p)
	}
	return w, nil
}

func (w *rebuilding) work(ctx context.Context, done *Rebuilt) error {
	levels, err := w.levels(ctx)
	if err != nil {
		return err
	}
	err = w.walk(ctx,
		steps.Step{Verb: "project", Do: func(ctx context.Context) error { return w.catchUp(ctx, done) }},
		steps.Step{Verb: "compare", Do: func(ctx context.Context) (err error) {
			done.Compared, err = w.set.Compare(ctx, levels, true)
			return err
		}},
	)
	if err != nil {
		return err
	}
	differ := len(done.Compared.Differences) > 0
	if w.CompareOnly {
		if err := w.set.Drop(ctx); err != nil {
			return err
		}
	}
	if differ && (w.CompareOnly || !w.Accept) {
		return ErrDiffer
	}
	if w.CompareOnly {
		return nil
	}
	// What came during the comparison is projected before anybody is stopped.
	if err := w.catchUp(ctx, done); err != nil {
		return err
	}
	return w.swap(ctx, levels, done)
}

// levels returns what the live tables have of each stream.
func (w *rebuilding) levels(ctx context.Context) ([]ledger.Stretch, error) {
	var list []ledger.Stretch
	for _, s := range w.starts {
		last, _, err := w.Ledger.LastCommit(ctx, s.Incarnation)
		if err != nil {
			return nil, err
		}
		list = append(list, ledger.Stretch{Incarnation: s.Incarnation, Through: last.Last})
	}
	return list, nil
}

// catchUp projects until the set is level with the streams.
func (w *rebuilding) catchUp(ctx context.Context, done *Rebuilt) error {
	began := time.Now()
	defer func() { done.Projecting += time.Since(began) }()
	stop := w.watch(ctx)
	defer stop()
	for _, p := range w.projectors {
		_, before := p.Progress()
		if err := p.Run(ctx); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		_, now := p.Progress()
		done.Messages += now - before
	}
	return nil
}

// watch tells of the progress until stop is called.
func (w *rebuilding) watch(ctx context.Context) (stop func()) {
	if w.Progress == nil {
		return func() {}
	}
	var total uint64
	for _, s := range w.starts {
		if stream, _, err := streamio.OpenStream(ctx, w.JetStream, s.Stream); err == nil {
			total += stream.CachedInfo().State.LastSeq - s.First + 1
		}
	}
	ended, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			var done uint64
			for i, p := range w.projectors {
				committed, _ := p.Progress()
				done += max(committed+1, w.starts[i].First) - w.starts[i].First
			}
			w.Progress(min(done, total), total)
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(ended)
		<-finished
	}
}

// swap stops the writers by taking their leases, brings the set level, holds what
// came since the comparison against the live tables as well, and swaps.
func (w *rebuilding) swap(ctx context.Context, compared []ledger.Stretch, done *Rebuilt) error {
	held := ctx
	err := w.walk(ctx, steps.Step{Verb: "hold the leases", Do: func(context.Context) error {
		for _, s := range w.starts {
			own, next, err := lease.Claim{KV: w.kv, Key: lease.KeyOf(s.Stream), Owner: w.owner, Timing: w.Timing, Log: w.Log}.Request(held)
			if err != nil {
				return err
			}
			w.leases = append(w.leases, own)
			held = next
		}
		return nil
	}})
	defer func() {
		for _, own := range w.leases {
			w.release(ctx, own)
		}
	}()
	if err != nil {
		return err
	}
	began := time.Now()
	defer func() { done.Swapping = time.Since(began) }()
	for _, s := range w.starts {
		if err := w.Ledger.KillInserts(held, s.Incarnation); err != nil {
			return err
		}
	}
	if err := w.catchUp(held, done); err != nil {
		return err
	}
	tail, err := w.levels(held)
	if err != nil {
		return err
	}
	came := false
	for i := range tail {
		tail[i].After = compared[i].Through
		came = came || tail[i].Through > tail[i].After
	}
	var more ledger.Compared
	if came { // each question reads whole tables, while nobody projects
		if more, err = w.set.Compare(held, tail, false); err != nil {
			return err
		}
	}
	done.Compared.Rows += more.Rows
	done.Compared.Took += more.Took
	done.Compared.Differences = append(done.Compared.Differences, more.Differences...)
	if len(more.Differences) > 0 && !w.Accept {
		return ErrDiffer
	}
	if err := context.Cause(held); err != nil {
		return err
	}
	reached := func(point string) {
		_ = w.walk(held, steps.Step{Verb: point, Do: func(context.Context) error { return nil }})
	}
	if err := w.set.Swap(held, reached); err != nil {
		return err
	}
	done.Swapped = true
	return nil
}
