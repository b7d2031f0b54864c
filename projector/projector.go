package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// Config says what to project and how. Start from DefaultConfig.
type Config struct {
	// JetStream is where the events are. Required.
	JetStream jetstream.JetStream
	// Ledger is where the rows go; its tables must be migrated. Required.
	Ledger *ledger.Ledger
	// Owner names this projector in the lease. Two processes that run at once
	// must differ; a process that replaces a dead one on the same data folder
	// may keep its name and then takes over at once. Defaults to a random name.
	Owner string
	// BatchMessages and BatchBytes close a batch. Default to 20,000 and 32 MiB.
	BatchMessages, BatchBytes int
	// Linger closes a batch that stays small: the longest that an event waits
	// before it is written. Defaults to 300 ms.
	Linger time.Duration
	// UntilCaughtUp makes Run return once the ledger is level with the stream.
	UntilCaughtUp bool
	// Log gets what a person would want to know. Nil discards it.
	Log *slog.Logger
}

// DefaultConfig returns the settings that suit one node.
func DefaultConfig(js jetstream.JetStream, l *ledger.Ledger) Config {
	return Config{JetStream: js, Ledger: l, BatchMessages: 20_000, BatchBytes: 32 << 20, Linger: 300 * time.Millisecond}
}

// Validate reports what is missing.
func (c Config) Validate() error {
	switch {
	case c.JetStream == nil:
		return errors.New("projector: JetStream is required")
	case c.Ledger == nil:
		return errors.New("projector: Ledger is required")
	case c.BatchMessages < 1, c.BatchBytes < 1, c.Linger < 0:
		return errors.New("projector: batch limits must be positive")
	}
	return nil
}

// ErrStreamForked means that the stream no longer holds what was committed
// from it: it was restored from an older copy, or changed. Nothing is written;
// rebuild, or restore the right stream.
var ErrStreamForked = errors.New("stream_forked: the stream does not hold what the ledger was projected from")

// ErrEventsExpired means that the stream has dropped events that were never
// projected.
var ErrEventsExpired = errors.New("events expired before they were projected")

// Projector projects one stream. Make one with New and call Run once.
type Projector struct {
	config      Config
	incarnation uuid.UUID
	stream      jetstream.Stream
	lease       *Lease
	seen        *identities
	committed   atomic.Uint64
	events      atomic.Uint64
	quarantined atomic.Uint64
	duplicates  atomic.Uint64
	ready       atomic.Bool
}

// New checks the configuration; it does not connect.
func New(c Config) (*Projector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Owner == "" {
		c.Owner = uuid.NewString()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Projector{config: c}, nil
}

// Status is what a projector has done since it started.
type Status struct {
	Ready       bool   // holds the lease and has recovered
	Committed   uint64 // last committed stream sequence
	Events      uint64 // rows in events
	Quarantined uint64
	Duplicates  uint64
}

// Status returns counters; safe to call at any time from any goroutine.
func (p *Projector) Status() Status {
	return Status{p.ready.Load(), p.committed.Load(), p.events.Load(), p.quarantined.Load(), p.duplicates.Load()}
}

// Run projects until ctx ends, or until it is caught up if so configured. It
// returns nil for both. Whatever it had begun to write when ctx ended is
// written to its end, and the lease is released. Errors that a later try could
// mend are waited out; an error that is returned needs a person.
func (p *Projector) Run(ctx context.Context) error {
	stream, incarnation, err := openStream(ctx, p.config.JetStream)
	if err != nil {
		return err
	}
	p.stream, p.incarnation = stream, incarnation
	kv, err := p.config.JetStream.KeyValue(ctx, LeaseBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("the bucket %s does not exist: run `ctxledger migrate`", LeaseBucket)
	}
	if err != nil {
		return fmt.Errorf("open lease bucket: %w", err)
	}
	lease, held, err := acquireLease(ctx, kv, StreamName, p.config.Owner, p.config.Log)
	if err != nil {
		return ended(ctx, err)
	}
	p.lease = lease
	err = p.project(held)
	p.ready.Store(false)
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if releaseErr := lease.Release(release); err == nil {
		err = releaseErr
	}
	return ended(ctx, err)
}

// ended takes an error that only says that ctx ended for success.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

func (p *Projector) project(ctx context.Context) error {
	from, err := p.recover(ctx)
	if err != nil {
		return err
	}
	in, err := newReader(ctx, p.stream, p.incarnation, from)
	if err != nil {
		return err
	}
	defer in.close()
	p.ready.Store(true)
	limits := batchLimits{messages: p.config.BatchMessages, bytes: p.config.BatchBytes, linger: p.config.Linger}
	for ctx.Err() == nil {
		if p.config.UntilCaughtUp {
			level, err := p.caughtUp(ctx)
			if err != nil || level {
				return err
			}
		}
		messages, err := in.readBatch(ctx, limits, time.Second)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			continue
		}
		if err := p.commit(ctx, messages); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (p *Projector) caughtUp(ctx context.Context) (bool, error) {
	info, err := p.stream.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("look at the stream: %w", err)
	}
	return info.State.LastSeq <= p.committed.Load() || info.State.Msgs == 0, nil
}

// commit takes one batch through journal, tables and commit.
func (p *Projector) commit(ctx context.Context, messages []*message) error {
	r := rangeOf(messages)
	all := make([]parsed, len(messages))
	for i, m := range messages {
		all[i] = parse(m)
	}
	var known map[pair]ledger.Known
	if err := p.persist(ctx, "look up identities", func() (err error) {
		known, err = p.known(ctx, all)
		return err
	}); err != nil {
		return err
	}
	batch, refused := build(r, all, known)
	if err := p.persist(ctx, "journal", func() error { return p.lease.Journal(ctx, r) }); err != nil {
		return err
	}
	if err := p.persist(ctx, "publish to quarantine", func() error { return p.quarantine(ctx, refused) }); err != nil {
		return err
	}
	if err := p.persist(ctx, "write", func() error { return p.config.Ledger.Write(ctx, batch, p.lease.Epoch()) }); err != nil {
		return err
	}
	for _, m := range all {
		if len(m.violations) == 0 {
			p.seen.add(m.identity)
		}
	}
	rows := batch.Rows()
	p.events.Add(rows["events"])
	p.quarantined.Add(rows["quarantine"])
	p.duplicates.Add(rows["duplicates"])
	p.committed.Store(r.Last)
	p.config.Log.Debug("committed", "first", r.First, "last", r.Last, "messages", r.Messages)
	if p.seen.full() {
		return p.loadIdentities(ctx)
	}
	return nil
}

// known asks the ledger about the identities that the filter does not call
// new.
func (p *Projector) known(ctx context.Context, all []parsed) (map[pair]ledger.Known, error) {
	known := make(map[pair]ledger.Known, len(all))
	var hits []uint64
	for _, m := range all {
		if len(m.violations) == 0 && p.seen.maybe(m.identity) {
			hits = append(hits, m.identity)
		}
	}
	if len(hits) == 0 {
		return known, nil
	}
	found, err := p.config.Ledger.Lookup(ctx, hits)
	if err != nil {
		return nil, err
	}
	for _, k := range found {
		id := pair{k.Source, k.EventID}
		if first, ok := known[id]; !ok || before(k.Position, first.Position) {
			known[id] = k
		}
	}
	return known, nil
}

// persist repeats what until it succeeds, ctx ends or the error is one that
// waiting does not mend.
func (p *Projector) persist(ctx context.Context, verb string, what func() error) error {
	const longest = 5 * time.Second
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, longest) {
		err := what()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrLeaseLost) || !ledger.Transient(err) {
			return fmt.Errorf("%s: %w", verb, err)
		}
		p.config.Log.Warn("will try again", "step", verb, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(delay/2 + rand.N(delay)):
		}
	}
}

func (p *Projector) loadIdentities(ctx context.Context) error {
	return p.persist(ctx, "load identities", func() (err error) {
		p.seen, err = loadIdentities(ctx, p.config.Ledger)
		return err
	})
}
