package projector

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Config says what to project and how. Start from DefaultConfig.
type Config struct {
	// JetStream is where the events are. Required.
	JetStream jetstream.JetStream
	// Ledger is where the rows go; its tables must be migrated. Required.
	Ledger *ledger.Ledger
	// Stream is which of the streams of events to project; see
	// [schema.Partitions]. Defaults to schema.EventStream, the only one. A Fleet projects
	// all of them.
	Stream string
	// Owner names this projector in the lease. Two processes that run at once
	// must differ; a process that replaces a dead one on the same data folder
	// may keep its name and then takes over at once. Defaults to a random name.
	Owner string
	// BatchMessages and BatchBytes close a batch; where ClickHouse is slow to write
	// one, the next are smaller. Default to 16,000 and 40 MiB.
	BatchMessages, BatchBytes int
	// Linger closes a batch that stays small: the longest that an event waits
	// before it is written. Defaults to 300 ms.
	Linger time.Duration
	// UntilCaughtUp makes Run return once the ledger is level with the stream.
	UntilCaughtUp bool
	// Keys returns the tenants' key rings, by which values are recognised that a
	// redaction withholds and that come back. It is called at the start and when a
	// redaction names a key that is not known. Without a key its values are not
	// recognised, which the log and Status say; events are projected all the
	// same. Nil has no keys.
	Keys func() ([]schema.KeyRing, error)
	// Ring returns the ledger's ring, with the secret of its transparency log and
	// the key that signs the log's heads. It is called at each start and
	// before each head. Nil keeps no log, which only a ledger that has none allows.
	Ring func() (proof.Ring, error)
	// Signing says when the heads of the log are signed, and where they go.
	Signing signing.Config
	// Log gets what a person would want to know: no payload and no secret. What
	// asks for attention has an attribute event, by which to raise an alarm; see
	// deploy/grafana/README.md. Nil discards it.
	Log *slog.Logger
	// Metrics count what is done. Nil counts nothing.
	Metrics *metrics.Metrics
	// Tracer makes a span of every batch, linked to those that its events were
	// recorded in, with the steps below it. Nil makes none.
	Tracer trace.Tracer
	// Timing is that of the lease. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Steps takes the steps of the protocol. Nil takes them in their order.
	Steps steps.Walker
}

// DefaultConfig returns the settings that suit one node.
func DefaultConfig(js jetstream.JetStream, l *ledger.Ledger) Config {
	return Config{JetStream: js, Ledger: l, BatchMessages: 16_000, BatchBytes: 40 << 20, Linger: 300 * time.Millisecond, Signing: signing.Config{Every: 10_000, Interval: 10 * time.Second}}
}

// Validate reports what is missing.
func (c Config) Validate() error {
	switch {
	case c.JetStream == nil:
		return errors.New("projector: JetStream is required")
	case c.Ledger == nil:
		return errors.New("projector: Ledger is required")
	case c.Signing.Every < 0, c.Signing.Interval < 0:
		return errors.New("projector: the heads of the log need limits that are not negative")
	case c.BatchMessages < 1, c.BatchBytes < 1, c.Linger < 0:
		return errors.New("projector: batch limits must be positive")
	}
	return nil
}

// Projector projects one stream. Make one with New and call Run once. It has two sides: a
// [builder] makes batches of what the stream has, and a [writer] commits them to the
// ledger. While it recovers, one goroutine uses both, see [recovery]; while it projects,
// each side belongs to a goroutine of its own, see [pipeline].
type Projector struct {
	*shared
	*builder
	*writer
	pace   pace          // of a batch's limits that is used
	roster *lease.Roster // says whether a free lease is to be taken; nil always does
}

// New checks the configuration; it does not connect.
func New(c Config) (*Projector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Owner == "" {
		c.Owner = uuid.NewString()
	}
	if c.Stream == "" {
		c.Stream = schema.EventStream
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Timing == (lease.Timing{}) {
		c.Timing = lease.DefaultTiming
	}
	if c.Steps == nil {
		c.Steps = steps.InOrder{}
	}
	c.Log = c.Log.With("stream", c.Stream)
	both := &shared{config: c, store: tablesOf(c.Ledger), clock: systemClock{}}
	return &Projector{shared: both, builder: newBuilder(both), writer: &writer{shared: both}}, nil
}

// Status is what a projector has done since it started.
type Status struct {
	Ready       bool   // holds the lease and has recovered since it took it
	Committed   uint64 // last committed stream sequence
	Events      uint64 // rows in events
	Quarantined uint64
	Duplicates  uint64
	UnknownKeys uint64 // keys that redactions name and that are not there: their values are not recognised
	Lost        uint64 // sequences that producers have used and whose facts did not come
}

// Status returns counters; safe to call at any time from any goroutine.
func (p *Projector) Status() Status {
	return Status{p.ready.Load(), p.committed.Load(), p.counts.events.Load(), p.counts.quarantined.Load(), p.counts.duplicates.Load(), p.counts.unknownKeys.Load(), p.counts.lost.Load()}
}

// Run projects until ctx ends, or until it is caught up if so configured. It
// returns nil for both. Whatever it had begun to write when ctx ended is
// written to its end, and the lease is released. Errors that a later try could
// mend are waited out; an error that is returned needs a person, except
// [lease.ErrLost], after which Run may be called on a new Projector.
func (p *Projector) Run(ctx context.Context) error {
	defer p.observe(ctx)()
	return p.leave(ctx, p.run(ctx))
}

// run is Run, without its end being noted.
func (p *Projector) run(ctx context.Context) error {
	var kv jetstream.KeyValue
	err := p.persist(ctx, "open the lease bucket", func() (err error) {
		kv, err = lease.OpenBucket(ctx, p.config.JetStream)
		return err
	})
	if err != nil {
		return err
	}
	// Without a stream there is nothing to hold a lease on.
	if err := p.persist(ctx, "open the stream", func() error { return p.recovery().open(ctx) }); err != nil {
		return err
	}
	p.siblings.kv = kv
	for {
		err := p.hold(ctx, kv)
		var request *lease.HandOver
		if !errors.As(err, &request) || ctx.Err() != nil {
			return err
		}
		p.config.Log.Info("a rebuild has asked for the lease and gets it", "event", "lease_handed_over", "owner", request.Owner)
	}
}

// hold waits for the lease and projects for as long as it has it.
func (p *Projector) hold(ctx context.Context, kv jetstream.KeyValue) error {
	p.enter(Standby)
	if err := p.inherit(ctx, kv); err != nil {
		return err
	}
	own, held, err := p.claim(kv).Acquire(ctx)
	if err != nil {
		return err
	}
	p.lease = own
	p.holds(own)
	p.enter(Recovering)
	held, heed := lease.HeedRequests(held, kv, p.leaseKey(), p.config.Log)
	err = p.persist(held, "project", func() error { return p.follow(held) })
	heed()
	p.ready.Store(false)
	p.holds(nil)
	if p.rebuild == nil {
		p.forget() // others may write until it has the lease again
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := own.Leave(release, err); err != nil {
		p.config.Log.Warn("the lease was not released and has to expire", "event", "lease_not_released", "error", err)
	}
	p.roster.Give()
	return err
}

// claim is for the lease of the stream.
func (p *Projector) claim(kv jetstream.KeyValue) lease.Claim {
	return lease.Claim{KV: kv, Key: p.leaseKey(), Owner: p.config.Owner, Timing: p.config.Timing, Roster: p.roster, Log: p.config.Log, Failed: p.leaseFailed}
}

// ended takes an error that only says that ctx ended for success.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// recovery is what brings ledger and stream to agreement.
func (p *Projector) recovery() *recovery { return &recovery{p.shared, p.builder, p.writer} }

// follow recovers and then commits batch after batch, until something goes
// wrong.
func (p *Projector) follow(ctx context.Context) error {
	p.flights = nil
	if err := p.recovery().recover(ctx); err != nil {
		return err
	}
	p.succeeded()
	if err := p.tellSiblings(ctx); err != nil {
		return err
	}
	next := p.committed.Load() + 1
	in, err := p.source.NewReader(ctx, next)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := p.take(ctx, steps.Step{Verb: "verify the last commit again", Do: p.recovery().verifyAgain}); err != nil {
		return err
	}
	p.ready.Store(true)
	p.signer = p.startSigner(ctx)
	defer func() {
		p.signer.Close()
		p.signer = nil // a recovery commits, too
	}()
	if err := p.tellLog(ctx); err != nil {
		return err
	}
	line := pipeline{shared: p.shared, builder: p.builder, writer: p.writer, in: in, pace: &p.pace}
	return line.run(ctx, next)
}

// shared is what both sides of a projector use: its configuration, its stream and its
// ledger. Only Projector.open changes the stream, while neither side runs.
type shared struct {
	config   Config
	store    store
	clock    clock
	source   streamio.Source
	siblings siblings
	rebuild  *rebuilding // nil for the live tables
	health
}

// counts are what a projector has done since it started.
type counts struct {
	events      atomic.Uint64
	quarantined atomic.Uint64
	duplicates  atomic.Uint64
	unknownKeys atomic.Uint64
	lost        atomic.Uint64 // sequences that producers used and whose facts did not come
}
