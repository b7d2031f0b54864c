package projector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Fleet projects the streams of events. A Fleet projects as many of them at a time as this
// process's share. Several processes with a Fleet share the streams and take over the streams
// of a process that ends. After a regular stop the takeover is immediate, and after a crash it
// takes a second or two. A process that hangs loses its leases by their expiry, 10 s. No process
// coordinates the others; see roster. With one stream a Fleet is one [Projector].
//
//	each stream:  wait for the lease, while below the share  ◀──┐
//	              project  ──▶ lost, or above the share  ───────┘
//
// The limits of batches apply to all streams together, so memory hardly grows with the
// streams; see turns. Make a Fleet with NewFleet and call Run once.
type Fleet struct {
	config  Config
	streams []string // their names
	turns   *turns   // nil for one stream

	mu      sync.Mutex // guards the fields below
	running []member   // by stream
	done    Status     // counters of projectors that have ended
}

// member is the projector of one stream.
type member struct {
	projector *Projector
	stop      context.CancelCauseFunc // nil while it does not run
	yields    bool                    // the projector was stopped for another process
	err       error                   // why the projector gave the stream up, for a person
}

// errSurplus ends a projector in order to leave its lease to another process.
var errSurplus = errors.New("this projector leaves the stream to another process")

// The lower bounds of a partition's batch limits.
const minBatchMessages, minBatchBytes = 1000, 1 << 20

// turns share the limits of batches among the streams of a fleet. Each stream may build a batch of its part
// of the limits. A stream with more messages than that takes one of maxTurns turns, and then its batch may have
// the full size. An insert costs ClickHouse about the same for one row and for some thousand: sixteen streams that
// are behind would otherwise cost several times as much as one. The streams take turns in the order in which they
// ask. A turn ends when its batch is committed, or when the projector starts again after an error. The next batch
// with a turn uses the memory of that batch.
type turns struct {
	free    chan *ledger.Batch // the turns that nobody has, each with a batch for reuse or nil
	streams int
}

// maxTurns is the number of turns: one batch is built while another is written.
const maxTurns = 2

func newTurns(streams int) *turns {
	if streams == 1 {
		return nil
	}
	t := &turns{make(chan *ledger.Batch, maxTurns), streams}
	for range maxTurns {
		t.free <- nil
	}
	return t
}

// part returns the limits of a batch without a turn.
func (t *turns) part(full streamio.Limits) streamio.Limits {
	if t == nil {
		return full
	}
	full.Messages = max(full.Messages/t.streams, min(full.Messages, minBatchMessages))
	full.Bytes = max(full.Bytes/t.streams, min(full.Bytes, minBatchBytes))
	return full
}

// more returns what a turn adds to these limits.
func (t *turns) more(full streamio.Limits) streamio.Limits {
	part := t.part(full)
	return streamio.Limits{Messages: full.Messages - part.Messages, Bytes: full.Bytes - part.Bytes}
}

// NewFleet checks the configuration without connecting. The field Stream must be empty. The
// names of the streams come from [streamio.ReadStreams].
func NewFleet(c Config, streams []string) (*Fleet, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	n := len(streams)
	if n == 0 {
		return nil, errors.New("projector: a fleet needs streams")
	}
	if c.Stream != "" {
		return nil, errors.New("projector: a fleet projects all streams: leave Stream empty")
	}
	if len(c.Shards) > 0 && len(c.Shards) != n {
		return nil, fmt.Errorf("projector: Shards has %d ledgers for %d streams", len(c.Shards), n)
	}
	if c.Owner == "" {
		c.Owner = uuid.NewString()
	}
	if c.Timing == (lease.Timing{}) {
		c.Timing = lease.DefaultTiming
	}
	f := &Fleet{config: c, streams: streams, turns: newTurns(n), running: make([]member, n)}
	for i := range f.running {
		p, err := f.projector(i)
		if err != nil {
			return nil, err
		}
		f.running[i].projector = p
	}
	return f, nil
}

// projector makes a projector of a stream.
func (f *Fleet) projector(i int) (*Projector, error) {
	c := f.config
	c.Stream = f.streams[i]
	if len(c.Shards) > 0 {
		c.Ledger = c.Shards[i]
	}
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Run projects until ctx ends, or, with UntilCaughtUp, until every stream is caught up. Run
// returns nil in both cases. When a projector fails for a reason that needs a person, the fleet
// gives its stream up and continues with the other streams. The log and Projectors show the
// failure. Run returns the error at the end, or immediately when no stream is left. Run ends with
// [shardmap.ErrMoved] when a partition has moved to another shard: then open the ledgers again, and run a
// new Fleet.
func (f *Fleet) Run(ctx context.Context) error {
	shared, stop, err := f.joinRoster(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer stop()
	ctx, end := context.WithCancel(ctx)
	defer end()
	errs := make([]error, len(f.streams))
	var streams sync.WaitGroup
	for i := range f.streams {
		streams.Go(func() {
			errs[i] = f.follow(ctx, i, shared)
			if errors.Is(errs[i], shardmap.ErrMoved) {
				end()
			}
		})
	}
	streams.Wait()
	return errors.Join(errs...)
}

// joinRoster shares the streams with other processes, where there are several streams. Stop
// ends the sharing.
func (f *Fleet) joinRoster(ctx context.Context) (shared *lease.Roster, stop func(), err error) {
	if len(f.streams) == 1 {
		return nil, func() {}, nil
	}
	p := f.running[0].projector
	var kv jetstream.KeyValue
	if err := p.persist(ctx, "open the lease bucket", func() (err error) {
		kv, err = lease.OpenBucket(ctx, f.config.JetStream)
		return err
	}); err != nil {
		return nil, nil, err
	}
	shared = lease.NewRoster(kv, f.config.Owner, len(f.streams), f.config.Timing)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var signing sync.WaitGroup
	signing.Go(func() { shared.Follow(ctx, p.leaseFailed, func() { f.yield(shared.Surplus()) }) })
	return shared, func() {
		cancel()
		signing.Wait()
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = shared.Leave(leaving) // after an error the entry expires
	}, nil
}

// yield stops projectors until n of them have ended or are ending. Streams with the highest
// numbers are first.
func (f *Fleet) yield(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.running {
		if m.yields {
			n--
		}
	}
	for i := len(f.running) - 1; i >= 0 && n > 0; i-- {
		if m := &f.running[i]; m.stop != nil && !m.yields && m.projector.held.Load() != nil {
			m.yields = true
			m.stop(errSurplus)
			n--
		}
	}
}

// follow runs the projectors of a stream, one after the other. When a projector has lost or
// released the lease, a new one waits for the lease.
func (f *Fleet) follow(ctx context.Context, i int, shared *lease.Roster) error {
	for {
		p, running, err := f.begin(ctx, i, shared)
		if err != nil {
			return err
		}
		err = p.Run(running)
		several := len(f.streams) > 1
		again := several && errors.Is(err, lease.ErrLost) || errors.Is(context.Cause(running), errSurplus)
		if several && err != nil {
			err = fmt.Errorf("stream %s: %w", f.streams[i], err)
		}
		f.end(i, err)
		if !again || ctx.Err() != nil {
			return err
		}
	}
}

// begin makes the next projector of a stream, and its context.
func (f *Fleet) begin(ctx context.Context, i int, shared *lease.Roster) (*Projector, context.Context, error) {
	p, err := f.projector(i)
	if err != nil {
		return nil, nil, err
	}
	p.roster, p.turns = shared, f.turns
	running, stop := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.running[i].projector.Status()
	last.Committed, last.UnknownKeys = 0, 0
	f.done.add(last)
	f.running[i] = member{projector: p, stop: stop}
	return p, running, nil
}

// end records the end of a stream's projector, and the error if it is for a person.
func (f *Fleet) end(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &f.running[i]
	m.stop(nil)
	m.stop, m.yields, m.err = nil, false, err
}

// Projectors returns the current or last projector of each stream.
func (f *Fleet) Projectors() []*Projector {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*Projector, len(f.running))
	for i, m := range f.running {
		list[i] = m.projector
	}
	return list
}

// Status adds the counters of the projectors since the start of the fleet. Ready needs one
// ready projector, and no failed or unready projector that holds its lease.
func (f *Fleet) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.done
	for _, m := range f.running {
		all.add(m.projector.Status())
		all.Ready = all.Ready || m.projector.ready.Load()
	}
	for _, m := range f.running {
		if m.err != nil || m.projector.held.Load() != nil && !m.projector.ready.Load() {
			all.Ready = false
		}
	}
	return all
}

// add adds the counters of o. Committed becomes the sum over the streams.
func (s *Status) add(o Status) {
	s.Committed += o.Committed
	s.Events += o.Events
	s.Quarantined += o.Quarantined
	s.Duplicates += o.Duplicates
	s.Lost += o.Lost
	s.UnknownKeys = max(s.UnknownKeys, o.UnknownKeys)
}
