package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Projector projects one stream. Make one with New and call Run once. The
// fields without an atomic belong to the goroutine of Run.
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

	timing timing
	at     func(point string) // a test's way to be told of each point; nil otherwise
}

func (p *Projector) reached(point string) {
	if p.at != nil {
		p.at(point)
	}
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
	return &Projector{config: c, timing: defaultTiming}, nil
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
// mend are waited out; an error that is returned needs a person, except
// [ErrLeaseLost], after which Run may be called on a new Projector.
func (p *Projector) Run(ctx context.Context) error {
	var kv jetstream.KeyValue
	err := p.persist(ctx, "open the lease bucket", func() (err error) {
		kv, err = p.config.JetStream.KeyValue(ctx, LeaseBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return errNoBucket
		}
		return err
	})
	if err != nil {
		return ended(ctx, err)
	}
	// Without a stream there is nothing to hold a lease on.
	if err := p.persist(ctx, "open the stream", func() error { return p.open(ctx) }); err != nil {
		return ended(ctx, err)
	}
	lease, held, err := acquireLease(ctx, kv, StreamName, p.config.Owner, p.timing, p.config.Log)
	if err != nil {
		return ended(ctx, err)
	}
	p.lease = lease
	err = p.persist(held, "project", func() error { return p.follow(held) })
	p.ready.Store(false)
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := lease.Release(release); err != nil {
		p.config.Log.Warn("the lease was not released and has to expire", "error", err)
	}
	return ended(ctx, err)
}

// ended takes an error that only says that ctx ended for success.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

func (p *Projector) open(ctx context.Context) (err error) {
	p.stream, p.incarnation, err = openStream(ctx, p.config.JetStream)
	return err
}

// follow recovers and then commits batch after batch. Whatever goes wrong with
// reading ends it, and the next call starts over as after a crash: the stream
// may be another one by then.
func (p *Projector) follow(ctx context.Context) error {
	p.ready.Store(false)
	if err := p.open(ctx); err != nil {
		return err
	}
	next, err := p.recover(ctx)
	if err != nil {
		return err
	}
	in, err := newReader(ctx, p.stream, p.incarnation, next)
	if err != nil {
		return err
	}
	defer in.close()
	p.ready.Store(true)
	limits := batchLimits{messages: p.config.BatchMessages, bytes: p.config.BatchBytes, linger: p.config.Linger}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if p.config.UntilCaughtUp {
			if level, err := in.level(ctx); err != nil || level {
				return err
			}
		}
		messages, err := in.readBatch(ctx, limits, time.Second)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			if err := in.check(ctx); err != nil {
				return err
			}
			continue
		}
		if err := p.take(ctx, next, messages); err != nil {
			return err
		}
		next = p.committed.Load() + 1
	}
}

// take commits messages, the first that the stream had from sequence next on.
// A gap is a message that somebody deleted, unless the stream now begins
// beyond it: then it was lost before it was projected.
func (p *Projector) take(ctx context.Context, next uint64, messages []*message) error {
	for i, m := range messages {
		if m.position.StreamSeq == next {
			next++
			continue
		}
		info, err := p.stream.Info(ctx)
		if err != nil {
			return fmt.Errorf("look at the stream: %w", err)
		}
		if info.State.FirstSeq <= next {
			break // nothing expired in this batch; further gaps are no different
		}
		if i > 0 {
			if err := p.commit(ctx, messages[:i]); err != nil {
				return err
			}
		}
		return expired(next, info.State.FirstSeq-1)
	}
	return p.commit(ctx, messages)
}

func expired(first, last uint64) error {
	return fmt.Errorf("%w: sequences %d to %d are gone from the stream", ErrEventsExpired, first, last)
}
