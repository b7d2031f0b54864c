package rebuild

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// rebuilding is one rebuild with its set of tables.
type rebuilding struct {
	Rebuild
	kv         jetstream.KeyValue
	owner      string
	set        *shadow.Set
	starts     []shadow.Start
	projectors []Projector    // one for each stream
	leases     []*lease.Lease // of the streams, once the rebuild holds them
	resumed    bool
	upTo       []shadow.Stretch // of each stream, what to project; nil for all
}

// through returns the last sequence of a stream to project, or 0 for no limit.
func (w *rebuilding) through(stream int) uint64 {
	if w.upTo == nil {
		return 0
	}
	return w.upTo[stream].Through
}

// prepare opens the set of an interrupted rebuild, or makes it. prepare also makes the projectors
// that fill the set.
func (r Rebuild) prepare(ctx context.Context, kv jetstream.KeyValue, owner string, set *shadow.Set) (*rebuilding, error) {
	w := &rebuilding{Rebuild: r, kv: kv, owner: owner, set: set}
	streams, err := streamio.ReadStreams(ctx, r.JetStream)
	if err != nil {
		return nil, err
	}
	// The shared streams are first: a tenant's own stream needs the tenant's events in them.
	for _, s := range streams {
		if len(r.Streams) > 0 && !slices.Contains(r.Streams, s.Name) {
			continue
		}
		stream, incarnation, err := streamio.OpenStream(ctx, r.JetStream, s.Name)
		if err != nil {
			return nil, err
		}
		w.starts = append(w.starts, shadow.Start{Stream: s.Name, Incarnation: incarnation, First: max(1, stream.CachedInfo().State.FirstSeq)})
	}
	if w.resumed, err = w.set.Open(ctx, w.starts); err != nil {
		return nil, err
	}
	if !w.resumed {
		if err := w.set.Make(ctx, w.starts); err != nil {
			return nil, err
		}
	}
	for i, s := range w.starts {
		first, found, err := translog.Of(r.Ledger).LogStart(ctx, s.Incarnation)
		switch {
		case err != nil:
			return nil, err
		case found && r.Ring == nil:
			return nil, decode.ErrNoSecret
		}
		p, err := r.Projector(Target{Rebuild: r, Stream: s.Stream, Set: w.set.Ledger, Owner: owner, FirstLeaf: first, Gone: GoneFrom(r.JetStream, s.Incarnation), Through: func() uint64 { return w.through(i) }})
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
	// Messages that arrived during the comparison are projected before the projectors are
	// stopped.
	if err := w.catchUp(ctx, done); err != nil {
		return err
	}
	return w.swap(ctx, levels, done)
}

// levels returns the last commit of each stream in the live tables.
func (w *rebuilding) levels(ctx context.Context) ([]shadow.Stretch, error) {
	var list []shadow.Stretch
	for _, s := range w.starts {
		last, _, err := w.Ledger.LastCommit(ctx, s.Incarnation)
		if err != nil {
			return nil, err
		}
		list = append(list, shadow.Stretch{Incarnation: s.Incarnation, Through: last.Last})
	}
	return list, nil
}

// catchUp projects until the set is level with the streams.
func (w *rebuilding) catchUp(ctx context.Context, done *Rebuilt) error {
	began := time.Now()
	defer func() { done.Projecting += time.Since(began) }()
	stop := w.watch(ctx)
	defer stop()
	for i, p := range w.projectors {
		if w.upTo != nil && w.upTo[i].Through == 0 {
			continue
		}
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

// watch reports the progress until stop is called.
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

// swap stops the writers by taking their leases, projects the last messages, compares the rows
// since the comparison, and swaps.
func (w *rebuilding) swap(ctx context.Context, compared []shadow.Stretch, done *Rebuilt) error {
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
			own.End(ctx, nil)
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
	var more shadow.Compared
	if came { // each query reads whole tables, and nothing is projected during it
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
