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
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Config names the servers, the stream and the settings of a projector. Start from
// DefaultConfig.
type Config struct {
	// JetStream holds the streams of events. Required.
	JetStream jetstream.JetStream
	// Ledger receives the rows. The ledger's tables must be migrated. Required.
	Ledger *ledger.Ledger
	// Shards are the ledgers of all partitions, in the order of the partitions, where the ledger is
	// on a cluster. A Fleet writes the rows of a partition to its own. Redactions of all are in
	// force for each. Empty means that Ledger has all partitions.
	Shards []*ledger.Ledger
	// Placed returns an error if the stream is not on Ledger any more, or if Shards has not all shards; see
	// [shardmap.Tables.Placed]. Nil for a plain ledger.
	Placed func(ctx context.Context, stream string) error
	// Stream names the stream to project; see [schema.Partitions]. Defaults to
	// schema.EventStream, the stream of an unpartitioned ledger. A Fleet projects all streams.
	Stream string
	// Owner names this projector in the lease. Two processes that run at the same time must
	// have different names. A process that replaces a dead one on the same data folder may keep
	// the name, and then takes over immediately. Defaults to a random name.
	Owner string
	// BatchMessages and BatchBytes close a batch. Batches become smaller while ClickHouse
	// writes slowly. Default to 24,000 and 60 MiB.
	BatchMessages, BatchBytes int
	// Linger closes a batch that stays small. An event waits at most this long before it is
	// written. Defaults to 300 ms.
	Linger time.Duration
	// UntilCaughtUp makes Run return once the ledger is level with the stream.
	UntilCaughtUp bool
	// Keys returns the tenants' key rings. The projector needs a redaction's key to recognise
	// the withheld values when they come back. Keys is called at the start and when a redaction
	// names an unknown key. Without a key its values are not recognised. The log and Status
	// report the missing key, and events are still projected. Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Ring returns the ledger's key ring. The ring holds the secret of the transparency log and
	// the key that signs its heads. Ring is called at each start and before each head. Nil
	// keeps no transparency log, and is valid only for a ledger without one.
	Ring func() (proof.Ring, error)
	// Signing sets when the heads of the transparency log are signed, and their destinations.
	Signing signing.Config
	// Log receives messages for the operator, without payloads and secrets. Each message that
	// may raise an alarm has an attribute event; see deploy/grafana/README.md. Nil discards the
	// messages.
	Log *slog.Logger
	// Metrics counts the work of the projector. Nil counts nothing.
	Metrics *metrics.Metrics
	// Tracer makes a span for every batch, with the steps of the batch below it. The span links
	// to the spans in which the events were recorded. Nil makes none.
	Tracer trace.Tracer
	// Timing is the timing of the lease. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Steps runs the steps of the protocol. Nil runs them in order.
	Steps steps.Walker
}

// DefaultConfig returns settings for one node.
func DefaultConfig(js jetstream.JetStream, l *ledger.Ledger) Config {
	return Config{JetStream: js, Ledger: l, BatchMessages: 24_000, BatchBytes: 60 << 20, Linger: 300 * time.Millisecond, Signing: signing.Config{Every: 10_000, Interval: 10 * time.Second}}
}

// Validate checks that the required fields are set and the limits are valid.
func (c Config) Validate() error {
	switch {
	case c.JetStream == nil:
		return errors.New("projector: JetStream is required")
	case c.Ledger == nil:
		return errors.New("projector: Ledger is required")
	case c.Signing.Every < 0, c.Signing.Interval < 0:
		return errors.New("projector: Signing.Every and Signing.Interval must not be negative")
	case c.BatchMessages < 1, c.BatchBytes < 1, c.Linger < 0:
		return errors.New("projector: BatchMessages and BatchBytes must be positive, and Linger must not be negative")
	}
	return nil
}

// Projector projects one stream. Make one with New and call Run once. A Projector has two
// sides. A [builder] makes batches from the messages of the stream, and a [writer] commits them
// to the ledger. During recovery one goroutine uses both sides; see [recovery]. While it
// projects, each side has its own goroutine; see [pipeline].
type Projector struct {
	*shared
	*builder
	*writer
	pace   pace          // the share of the batch limits in use
	roster *lease.Roster // decides whether to take a free lease; nil always takes it
	turns  *turns        // of the fleet; nil for the only stream
}

// New checks the configuration without connecting.
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
	both := &shared{config: c, store: tablesOf(c.Ledger, c.Shards...), clock: systemClock{}}
	return &Projector{shared: both, builder: newBuilder(both), writer: &writer{shared: both}}, nil
}

// Status counts the work of a projector since its start.
type Status struct {
	Ready       bool   // the projector holds the lease and has recovered
	Committed   uint64 // last committed stream sequence
	Events      uint64 // rows in events
	Quarantined uint64
	Duplicates  uint64
	UnknownKeys uint64 // missing keys that redactions name: their values are not recognised
	Lost        uint64 // sequences that producers used and whose facts did not arrive
}

// Status returns the counters. Status is safe for concurrent use.
func (p *Projector) Status() Status {
	return Status{p.ready.Load(), p.committed.Load(), p.counts.events.Load(), p.counts.quarantined.Load(), p.counts.duplicates.Load(), p.counts.unknownKeys.Load(), p.counts.lost.Load()}
}

// Run projects until ctx ends, or, with UntilCaughtUp, until the ledger is level. Run returns
// nil in both cases. When ctx ends, Run finishes the current write and releases the lease. Run
// waits out errors that a retry may resolve. A returned error needs a person, except
// [lease.ErrLost]: after that error, call Run on a new Projector.
func (p *Projector) Run(ctx context.Context) error {
	defer p.observe(ctx)()
	return p.leave(ctx, p.run(ctx))
}

// run is Run without the record of its end.
func (p *Projector) run(ctx context.Context) error {
	var kv jetstream.KeyValue
	err := p.persist(ctx, "open the lease bucket", func() (err error) {
		kv, err = lease.OpenBucket(ctx, p.config.JetStream)
		return err
	})
	if err != nil {
		return err
	}
	// A lease needs an existing stream.
	if err := p.persist(ctx, "open the stream", func() error { return p.recovery().open(ctx) }); err != nil {
		return err
	}
	p.siblings.kv = kv
	for {
		err := p.hold(ctx, kv)
		var request *lease.HandOver
		if errors.Is(err, shardmap.ErrSwitching) && ctx.Err() == nil {
			p.config.Log.Info("the partition moves to another shard, so this projector waits")
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(p.config.Timing.Poll):
			}
			continue
		}
		if errors.Is(err, errLevel) {
			return nil
		}
		if !errors.As(err, &request) || ctx.Err() != nil {
			return err
		}
		p.config.Log.Info("a rebuild asked for the lease and receives it", "event", "lease_handed_over", "owner", request.Owner)
	}
}

// hold waits for the lease and projects while it holds the lease.
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
		p.forget() // other processes may write before the projector has the lease again
	}
	if err == nil { // level with the stream
		own.Finish(p.committed.Load())
	}
	own.End(ctx, err)
	p.roster.Give()
	return err
}

// claim returns the claim for the lease of the stream.
func (p *Projector) claim(kv jetstream.KeyValue) lease.Claim {
	c := lease.Claim{KV: kv, Conn: p.config.JetStream.Conn(), Key: p.leaseKey(), Owner: p.config.Owner, Timing: p.config.Timing, Roster: p.roster, Log: p.config.Log, Failed: p.leaseFailed}
	if p.config.UntilCaughtUp && p.rebuild == nil { // a rebuild verifies its tables by itself
		c.Finished = p.finished
	}
	return c
}

// errLevel ends the wait for a lease, because its holder has brought the ledger level with the stream.
var errLevel = errors.New("the ledger is level with the stream")

// finished returns errLevel if the stream has no message after a level. Otherwise, and without an answer of the
// server, the projector takes the lease.
func (p *Projector) finished(ctx context.Context, level uint64) error {
	if info, err := p.source.StillThere(ctx); err == nil && info.State.LastSeq == level {
		return errLevel
	}
	return nil
}

// ended returns nil for an error whose only cause is the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// recovery returns the part of the projector that brings ledger and stream to agreement.
func (p *Projector) recovery() *recovery { return &recovery{p.shared, p.builder, p.writer} }

// follow recovers and then commits batches until the first error.
func (p *Projector) follow(ctx context.Context) error {
	p.flights = nil
	if err := p.placed(ctx); err != nil {
		return err
	}
	if err := p.recovery().recover(ctx); err != nil {
		return err
	}
	p.succeeded()
	if p.last.Last > 0 {
		if err := p.tellSiblings(ctx); err != nil {
			return err
		}
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
		p.signer = nil // a recovery commits, too, and must not sign
	}()
	if err := p.tellLog(ctx); err != nil {
		return err
	}
	line := pipeline{shared: p.shared, builder: p.builder, writer: p.writer, in: in, pace: &p.pace, turns: p.turns}
	return line.run(ctx, next)
}

// shared is the common part of both sides of a projector: the configuration, the stream and the
// ledger. Only recovery.open changes the stream, while neither side runs.
type shared struct {
	config   Config
	store    store
	clock    clock
	source   streamio.Source
	siblings siblings
	rebuild  *rebuilding // nil for the live tables
	retained uint64      // the ledger began with the facts that never expire of the messages up to here
	health
}

// placed checks that the ledgers are still those of the streams.
func (s *shared) placed(ctx context.Context) error {
	if s.config.Placed == nil {
		return nil
	}
	return s.config.Placed(ctx, s.config.Stream)
}

// counts are the counters of a projector since its start.
type counts struct {
	events      atomic.Uint64
	quarantined atomic.Uint64
	duplicates  atomic.Uint64
	unknownKeys atomic.Uint64
	lost        atomic.Uint64 // sequences that producers used and whose facts did not arrive
}
