package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Config names the producer and its destination. Start from DefaultConfig.
type Config struct {
	// NATS is the connection to publish on; the client does not close it. Required. A
	// connection that reconnects forever (nats.MaxReconnects(-1)) survives any outage of
	// the server.
	NATS *nats.Conn
	// Tenant and Runtime name the installation. Their defaults are schema.DefaultTenant and
	// schema.DefaultRuntime.
	Tenant, Runtime string
	// Instance distinguishes processes of one runtime. Processes that run at the same time
	// must have different instances. With an outbox, Instance is empty or the outbox's.
	// Without an outbox, it defaults to a random UUID.
	Instance string
	// Outbox keeps facts on disk until the stream has stored them; see package outbox. The
	// client does not close the outbox, and no other client may use it. Nil keeps facts in
	// memory only.
	Outbox publish.Outbox
	// Key makes content digests. The zero key makes no digests.
	Key schema.Key
	// Guard withholds values from all published data. Nil withholds nothing.
	Guard *redact.Guard
	// Detector finds secrets that the guard does not know. Nil detects nothing.
	Detector Detector
	// GrantPolicy protects namespaces from grants to any run. The zero value protects none.
	GrantPolicy grant.Policy
	// ItemTypes are the extension types that item log entries may have, in addition to the
	// types of seed 003. Nil accepts every well-formed extension, see [ParseItemType].
	ItemTypes []ItemType
	// Counter counts tokens. Nil means a new counter for this client.
	Counter *window.Counter
	// Linger is the longest time that a fact waits for its batch. 0 means 100 ms.
	Linger time.Duration
	// StreamWait is the longest time that a seal waits for the stream if there is an
	// outbox. After this time the copy in the outbox is enough. 0 means 1 s.
	StreamWait time.Duration
	// MaxQueued is the largest number of facts that wait in memory while neither the stream
	// nor the outbox accepts facts. 0 means DefaultMaxQueued.
	MaxQueued int
	// WhenFull selects the handling of facts when the queue is full. Defaults to Refuse.
	WhenFull WhenFull
	// BlockFor is the longest total time that successive facts wait for room when WhenFull
	// is Block. 0 means 1 s.
	BlockFor time.Duration
	// Clock returns the time of facts. Defaults to time.Now.
	Clock func() time.Time
	// Log receives messages for operators that no error reports: see [Client.TakenIDs]. Nil
	// discards them.
	Log *slog.Logger
}

// defaultLinger is set by the design.
const defaultLinger, defaultStreamWait, defaultBlockFor = 100 * time.Millisecond, time.Second, time.Second

// DefaultConfig publishes on nc under the default names.
func DefaultConfig(nc *nats.Conn) Config {
	return Config{
		NATS: nc, Tenant: schema.DefaultTenant, Runtime: schema.DefaultRuntime,
		Linger: defaultLinger, StreamWait: defaultStreamWait, MaxQueued: publish.DefaultMaxQueued, BlockFor: defaultBlockFor,
	}
}

// Validate returns an error for invalid fields of c and changes nothing.
func (c Config) Validate() error {
	switch {
	case c.NATS == nil:
		return errors.New("producer: NATS is required")
	case c.Linger < 0:
		return errors.New("producer: Linger must not be negative")
	case c.MaxQueued < 0:
		return errors.New("producer: MaxQueued must not be negative")
	case c.StreamWait < 0:
		return errors.New("producer: StreamWait must not be negative")
	case c.BlockFor < 0:
		return errors.New("producer: BlockFor must not be negative")
	case !c.WhenFull.valid():
		return errors.New("producer: WhenFull must be Refuse, Block or Drop")
	case c.Outbox != nil && c.Instance != "" && c.Instance != c.Outbox.Instance():
		return errors.New("producer: Instance must be empty, or the outbox's")
	}
	return c.validateContract()
}

// validateContract checks the fields that every client needs, with any transport.
func (c Config) validateContract() error {
	for _, t := range c.ItemTypes {
		if _, err := ParseItemType(string(t)); err != nil {
			return err
		}
	}
	if err := c.GrantPolicy.Validate(); err != nil {
		return err
	}
	for _, name := range []string{c.Tenant, c.Runtime, c.Instance} {
		if hits := c.Guard.Check(name); len(hits) > 0 {
			return &WithheldError{Field: "the tenant, runtime or instance", PolicyRef: hits[0].PolicyRef}
		}
	}
	return nil
}

// filled returns c with the defaults in place.
func (c Config) filled() Config {
	if c.Tenant == "" {
		c.Tenant = schema.DefaultTenant
	}
	if c.Runtime == "" {
		c.Runtime = schema.DefaultRuntime
	}
	if c.Instance == "" && c.Outbox != nil {
		c.Instance = c.Outbox.Instance()
	}
	if c.Instance == "" {
		c.Instance = uuid.NewString()
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	if c.StreamWait == 0 {
		c.StreamWait = defaultStreamWait
	}
	if c.BlockFor == 0 {
		c.BlockFor = defaultBlockFor
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = publish.DefaultMaxQueued
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Counter == nil {
		c.Counter = window.NewCounter(window.CounterConfig{})
	}
	return c
}

// Client records facts for one process. Safe for concurrent use.
type Client struct {
	config    Config
	source    string
	transport publish.Transport
	withheld  *withheld

	// mu guards sequences, losses and dropped. mu is held while a fact is queued, so facts
	// queue in order of sequence.
	mu        sync.Mutex
	sequences map[string]int64 // last used sequence, by session
	losses    map[string]loss  // dropped sequences without a record of the loss, by session
	dropped   int64            // number of all dropped facts

	logsMu sync.Mutex // guards logs
	logs   map[threadKey]*itemLog
}

// Connect checks that the stream exists and returns a client. With an outbox, the server
// may be unavailable. Events that wait in the outbox are sent first when the server is
// available again. The sequences of the outbox's instance continue after the last used one.
func Connect(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.filled()
	js, err := jetstream.New(c.NATS)
	if err != nil {
		return nil, fmt.Errorf("use jetstream: %w", err)
	}
	if err := checkStream(ctx, js, c.Tenant, c.Outbox != nil); err != nil {
		return nil, err
	}
	var client *Client
	p := publish.NewWith(js, publish.Options{
		Linger: c.Linger, MaxQueued: c.MaxQueued, ReplaceRefused: true, Log: c.Log,
		Room: func() { client.recordLosses() },
	})
	client, err = NewClient(c, p)
	if err != nil {
		return nil, err
	}
	if c.Outbox != nil {
		client.transport = publish.NewOutboxTransport(p, c.StreamWait)
		if err := client.resume(c.Outbox); err != nil {
			return nil, fmt.Errorf("continue from the outbox: %w", err)
		}
		p.KeepIn(c.Outbox)
	}
	return client, nil
}

// checkStream returns an error if no stream takes the events of the tenant. If the server may be unavailable,
// only an answer of the server counts. An account with only the right to publish gets no
// answer.
func checkStream(ctx context.Context, js jetstream.JetStream, tenant string, mayBeAway bool) error {
	if mayBeAway && !js.Conn().IsConnected() {
		return nil
	}
	subjects := schema.TenantSubjects(tenant)
	_, err := js.StreamNameBySubject(ctx, subjects)
	if err == nil || publish.PublishOnly(err) || mayBeAway && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	command := "ctxledger migrate"
	if _, other := js.StreamNameBySubject(ctx, schema.AllSubjects); other == nil {
		command += " --tenant " + schema.TenantOf(tenant)
	}
	return fmt.Errorf("find the stream for %s (run `%s`): %w", subjects, command, err)
}

// NewClient returns a client that gives its events to t. The client needs no connection and
// ignores Config.NATS, Linger and MaxQueued. Runtimes use [Connect]. NewClient is for other
// transports, such as producertest's.
func NewClient(c Config, t publish.Transport) (*Client, error) {
	if err := c.validateContract(); err != nil {
		return nil, err
	}
	c = c.filled()
	client := &Client{
		config: c, source: "urn:ctxledger:runtime:" + url.PathEscape(c.Runtime) + ":" + url.PathEscape(c.Instance),
		transport: t, sequences: make(map[string]int64), losses: make(map[string]loss), logs: make(map[threadKey]*itemLog),
	}
	if !c.Key.IsZero() {
		f, err := fingerprint.New(c.Key)
		if err != nil {
			return nil, fmt.Errorf("use the tenant key: %w", err)
		}
		c.Guard = c.Guard.Fingerprinted(f)
	}
	client.withheld = newWithheld(c.Guard, c.Detector)
	return client, nil
}

// Record queues one fact with the given ids, the next sequence of its session and a time
// from the clock. Record never waits for the stream. A nil error does not mean that the
// fact is durable: see [Client.Flush]. With an error, nothing was recorded, and no sequence
// is used.
//
// Record masks withheld values in the fact's data. Before the fact, it records one
// redaction for each policy. Ids are not masked, because two different ids would become
// equal. Record refuses an event with a withheld value in its subject or ids as a
// [*WithheldError]. Record also refuses an event that violates the contract after masking.
//
// The client writes schema version and event type into fact and keeps no reference to it.
// Errors are schema.Violations for a fact that the contract refuses, [*WithheldError],
// [nats.ErrMaxPayload] and [publish.ErrQueueFull]. Their texts hold no withheld value.
// Depending on Config.WhenFull, Record waits for room or drops the fact. For a dropped fact
// there is no error. Its sequence is used, and the stream gets a record of the loss.
func (c *Client) Record(ctx context.Context, fact schema.Fact, ids schema.Correlation) (*schema.Event, error) {
	var recorded *schema.Event
	err := c.record(ctx, ids, submission{facts: []schema.Fact{fact}, event: &recorded})
	return recorded, err
}

// submission is a group of facts on the way to the queue: all are queued, in order, or
// none. Exactly one of facts and numbered is set.
type submission struct {
	facts []schema.Fact
	// numbered makes a fact that holds its own sequence. numbered is called with the
	// sequences locked and must only compute.
	numbered func(sequence int64) schema.Fact
	used     func(sequence int64) // called in order with each used sequence; may be nil
	event    **schema.Event       // destination of the last event; may be nil
}

// record queues facts. record queues the redactions of a fact before the fact.
func (c *Client) record(ctx context.Context, ids schema.Correlation, s submission) error {
	ids.Tenant, ids.RuntimeID = c.config.Tenant, c.config.Runtime
	var events []*schema.Event
	for _, fact := range s.facts {
		if fact == nil {
			return invalid("fact", "must not be nil")
		}
		made, err := c.events(ctx, fact, ids)
		if err != nil {
			return fmt.Errorf("record %s: %w", fact.EventType(), err)
		}
		events = append(events, made...)
	}
	for {
		err := c.queue(ctx, ids, s, events)
		room, ok := c.transport.(interface {
			AwaitRoom(ctx context.Context, bound time.Duration) error
		})
		if !ok || c.config.WhenFull != Block || !errors.Is(err, publish.ErrQueueFull) {
			return err
		}
		if err := room.AwaitRoom(ctx, c.config.BlockFor); err != nil {
			return err
		}
	}
}

// queue gives events their sequences and passes them to the transport. The record of the
// session's earlier losses goes first.
func (c *Client) queue(ctx context.Context, ids schema.Correlation, s submission, events []*schema.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := c.lossEvents(ids.SessionID)
	if err != nil {
		return err
	}
	first := c.sequences[ids.SessionID] + 1 + int64(len(before))
	if s.numbered != nil {
		if events, err = c.events(ctx, s.numbered(first), ids); err != nil {
			return err
		}
	}
	messages := make([]schema.Message, 0, len(before)+len(events))
	for i, e := range append(before, events...) {
		e.Sequence = new(c.sequences[ids.SessionID] + int64(i) + 1)
		messages = append(messages, e.Binary())
	}
	err = c.transport.Send(ctx, messages...)
	switch {
	case err == nil:
		delete(c.losses, ids.SessionID)
		c.sequences[ids.SessionID] += int64(len(messages))
	case c.config.WhenFull == Drop && errors.Is(err, publish.ErrQueueFull) && s.droppable():
		for i, e := range events {
			e.Sequence = new(c.sequences[ids.SessionID] + int64(i) + 1)
		}
		c.lose(ids.SessionID, int64(len(events)))
	default:
		return err
	}
	for _, e := range events {
		if s.used != nil {
			s.used(*e.Sequence)
		}
	}
	if s.event != nil {
		*s.event = events[len(events)-1]
	}
	return nil
}

// Flush returns when the stream has stored every fact recorded so far. After an error the
// facts are still queued and are sent when the stream is available again. Flush may be
// called again.
func (c *Client) Flush(ctx context.Context) error {
	for {
		lost := c.hasLosses()
		c.recordLosses()
		if err := c.transport.Flush(ctx); err != nil || !lost {
			return err
		}
	}
}

// Err returns why the oldest recorded facts are not yet in the stream, or nil; see
// [publish.Publisher.Err].
func (c *Client) Err() error { return c.transport.Err() }

// Source is the CloudEvents source of this client's events.
func (c *Client) Source() string { return c.source }
