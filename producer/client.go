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

// Config says who produces and where to. Start from DefaultConfig.
type Config struct {
	// NATS is the connection to publish on; the client does not close it.
	// Required. One that reconnects for ever (nats.MaxReconnects(-1)) survives
	// any outage of the server.
	NATS *nats.Conn
	// Tenant and Runtime name the installation. Default to schema.DefaultTenant
	// and schema.DefaultRuntime.
	Tenant, Runtime string
	// Instance tells processes of one runtime apart; two that run at once must
	// differ. Defaults to the outbox's, which it must be if there is one, or else
	// to a random UUID.
	Instance string
	// Outbox keeps facts on disk until the stream has them; see package outbox.
	// The client does not close it, and no other client may use it. Nil keeps
	// them in memory only.
	Outbox publish.Outbox
	// Key makes content digests. The zero key makes none.
	Key schema.Key
	// Guard withholds values from everything that is published. Nil withholds
	// nothing.
	Guard *redact.Guard
	// Detector finds secrets that the guard does not know. Nil detects none.
	Detector Detector
	// GrantPolicy protects namespaces from being granted to any run. The zero
	// value protects none.
	GrantPolicy grant.Policy
	// ItemTypes are the types of item log entries that are taken besides those of
	// seed 003. Nil takes every extension that is well formed, see
	// [ParseItemType].
	ItemTypes []ItemType
	// Counter counts tokens. Nil counts with a counter of the client's own.
	Counter *window.Counter
	// Linger is the longest that a fact waits for its batch. 0 means 100 ms.
	Linger time.Duration
	// StreamWait is how long a seal waits for the stream at most when there is an
	// outbox, before it is content with that. 0 means 1 s.
	StreamWait time.Duration
	// MaxQueued is how many facts wait in memory at most, while the stream, or
	// the outbox if there is one, takes none. 0 means DefaultMaxQueued.
	MaxQueued int
	// WhenFull says what becomes of one more. Defaults to Refuse.
	WhenFull WhenFull
	// BlockFor bounds how long facts that come one after the other wait for room,
	// in all, when WhenFull is Block. 0 means 1 s.
	BlockFor time.Duration
	// Clock tells when facts happen. Defaults to time.Now.
	Clock func() time.Time
	// Log gets what an operator should know and no error says: see
	// [Client.TakenIDs]. Nil discards it.
	Log *slog.Logger
}

// defaultLinger is the design's.
const defaultLinger, defaultStreamWait, defaultBlockFor = 100 * time.Millisecond, time.Second, time.Second

// DefaultConfig publishes on nc under the default names.
func DefaultConfig(nc *nats.Conn) Config {
	return Config{
		NATS: nc, Tenant: schema.DefaultTenant, Runtime: schema.DefaultRuntime,
		Linger: defaultLinger, StreamWait: defaultStreamWait, MaxQueued: publish.DefaultMaxQueued, BlockFor: defaultBlockFor,
	}
}

// Validate reports what is wrong with c and changes nothing.
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

// validateContract checks what every client needs, whatever its transport.
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

	mu        sync.Mutex       // guards the next three; held while a fact is queued, so that order is sequence
	sequences map[string]int64 // last used, by session
	losses    map[string]loss  // dropped and not recorded as such yet, by session
	dropped   int64            // facts ever dropped

	logsMu sync.Mutex // guards logs
	logs   map[threadKey]*itemLog
}

// Connect checks that the stream is there and returns a client. With an outbox
// the server may be away: what waits in the outbox is sent, before all else, once
// it is back, and the sequences of its instance go on where they were.
func Connect(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.filled()
	js, err := jetstream.New(c.NATS)
	if err != nil {
		return nil, fmt.Errorf("use jetstream: %w", err)
	}
	if err := checkStream(ctx, js, c.Outbox != nil); err != nil {
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
			return nil, fmt.Errorf("go on where the outbox was: %w", err)
		}
		p.KeepIn(c.Outbox)
	}
	return client, nil
}

// checkStream reports that there is no stream. Where the server may be away,
// only the server itself can say so; an account that may only publish is not told.
func checkStream(ctx context.Context, js jetstream.JetStream, mayBeAway bool) error {
	if mayBeAway && !js.Conn().IsConnected() {
		return nil
	}
	_, err := js.StreamNameBySubject(ctx, schema.AllSubjects)
	if err == nil || publish.PublishOnly(err) || mayBeAway && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return fmt.Errorf("find the stream for %s (run `ctxledger migrate`): %w", schema.AllSubjects, err)
}

// NewClient returns a client that hands its events to t, and needs no
// connection: Config.NATS, Linger and MaxQueued are not looked at. Runtimes use
// [Connect]; this is for other transports, such as producertest's.
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

// Record queues one fact with the given ids, the next sequence of its session
// and a time from the clock, and never waits for the stream. A nil error is not
// yet durable: see [Client.Flush]. With an error nothing was recorded, and no
// sequence is used up.
//
// Values that the guard withholds are masked in the fact's data, and in front of
// the fact a redaction is recorded for each policy. Ids are not masked, since
// two would become one: an event with such a value in its subject or in ids is
// refused as a [*WithheldError], as is one that would be none when masked.
//
// The client writes schema version and event type into fact and keeps no
// reference to it. Errors: schema.Violations for a fact that the contract
// refuses, [*WithheldError], [nats.ErrMaxPayload], [publish.ErrQueueFull]; none of
// their texts holds a withheld value. Config.WhenFull may have it wait for room,
// or drop the fact: then there is no error, the sequence is used up, and the
// stream gets a record of the loss.
func (c *Client) Record(ctx context.Context, fact schema.Fact, ids schema.Correlation) (*schema.Event, error) {
	var recorded *schema.Event
	err := c.record(ctx, ids, submission{facts: []schema.Fact{fact}, event: &recorded})
	return recorded, err
}

// submission is facts on their way to the queue: all are queued, in order, or
// none. Exactly one of facts and numbered is set.
type submission struct {
	facts []schema.Fact
	// numbered makes a fact that holds its own sequence. It is called with the
	// sequences locked, and must only compute.
	numbered func(sequence int64) schema.Fact
	used     func(sequence int64) // called, in order, with each sequence that was used; may be nil
	event    **schema.Event       // where to put the last event; may be nil
}

// record queues facts and, before each, the redactions that the guard made in it.
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

// queue gives events their sequences and hands them to the transport, behind the
// record of what its session lost before.
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

// Flush returns once the stream has stored every fact recorded so far. After an
// error the facts are still queued and are sent when the stream is back; Flush
// may be called again.
func (c *Client) Flush(ctx context.Context) error {
	for {
		lost := c.hasLosses()
		c.recordLosses()
		if err := c.transport.Flush(ctx); err != nil || !lost {
			return err
		}
	}
}

// Err says why the oldest recorded facts are not in the stream yet, or nil; see
// [publish.Publisher.Err].
func (c *Client) Err() error { return c.transport.Err() }

// Source is the CloudEvents source of this client's events.
func (c *Client) Source() string { return c.source }
