package producer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
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
	// differ. Defaults to a random UUID.
	Instance string
	// Key makes content digests. The zero key makes none.
	Key schema.Key
	// Guard withholds values from everything that is published. Nil withholds
	// nothing.
	Guard *redact.Guard
	// Counter counts tokens. Nil counts with a counter of the client's own.
	Counter *window.Counter
	// Linger is the longest that a fact waits for its batch. 0 means 100 ms.
	Linger time.Duration
	// MaxQueued is how many facts wait at most while the stream is away; one
	// more is refused with ErrQueueFull. 0 means DefaultMaxQueued.
	MaxQueued int
	// Clock tells when facts happen. Defaults to time.Now.
	Clock func() time.Time
}

// defaultLinger is the design's.
const defaultLinger = 100 * time.Millisecond

// DefaultConfig publishes on nc under the default names.
func DefaultConfig(nc *nats.Conn) Config {
	return Config{
		NATS: nc, Tenant: schema.DefaultTenant, Runtime: schema.DefaultRuntime, Linger: defaultLinger, MaxQueued: DefaultMaxQueued,
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
	if c.Instance == "" {
		c.Instance = uuid.NewString()
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = DefaultMaxQueued
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
	publisher *Publisher
	// fingerprints are those of the guard's values; none without a key.
	fingerprints []redact.PolicyFingerprint

	mu        sync.Mutex       // guards sequences; held while a fact is queued, so that order is sequence
	sequences map[string]int64 // last used, by session

	logsMu sync.Mutex // guards logs
	logs   map[threadKey]*itemLog
}

// Connect checks that the stream is there and returns a client.
func Connect(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.filled()
	js, err := jetstream.New(c.NATS)
	if err != nil {
		return nil, fmt.Errorf("use jetstream: %w", err)
	}
	if _, err := js.StreamNameBySubject(ctx, schema.AllSubjects); err != nil {
		return nil, fmt.Errorf("find the stream for %s (run `ctxledger migrate`): %w", schema.AllSubjects, err)
	}
	client := &Client{
		config: c, source: "urn:ctxledger:runtime:" + url.PathEscape(c.Runtime) + ":" + url.PathEscape(c.Instance),
		publisher: newPublisher(js, c.Linger, c.MaxQueued), sequences: make(map[string]int64), logs: make(map[threadKey]*itemLog),
	}
	if !c.Key.IsZero() {
		fingerprinter, err := redact.NewFingerprinter(c.Key.ID, c.Key.Derive("fingerprint"))
		if err != nil {
			return nil, fmt.Errorf("use the tenant key: %w", err)
		}
		client.fingerprints = fingerprinter.Fingerprints(c.Guard)
	}
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
// refused as a [*WithheldError].
//
// The client writes schema version and event type into fact and keeps no
// reference to it. Errors: schema.Violations for a fact that the contract
// refuses, [*WithheldError], [nats.ErrMaxPayload], [ErrQueueFull]; none of
// their texts holds a withheld value.
func (c *Client) Record(ctx context.Context, fact schema.Fact, ids schema.Correlation) (*schema.Event, error) {
	var recorded *schema.Event
	err := c.record(ctx, ids, submission{fact: fact, event: &recorded})
	return recorded, err
}

// submission is a fact on its way to the queue. Exactly one of fact and
// numbered is set.
type submission struct {
	fact schema.Fact
	// numbered makes a fact that holds its own sequence. It is called with the
	// sequences locked, and must only compute.
	numbered func(sequence int64) schema.Fact
	used     func(sequence int64) // called, in order, with each sequence that was used; may be nil
	event    **schema.Event       // where to put the event; may be nil
}

// record queues a fact and, before it, the redactions that the guard made in it.
func (c *Client) record(ctx context.Context, ids schema.Correlation, s submission) error {
	ids.Tenant, ids.RuntimeID = c.config.Tenant, c.config.Runtime
	var events []*schema.Event
	var err error
	if s.numbered == nil {
		if events, err = c.events(s.fact, ids); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.numbered != nil {
		if events, err = c.events(s.numbered(c.sequences[ids.SessionID]+1), ids); err != nil {
			return err
		}
	}
	messages := make([]schema.Message, len(events))
	for i, e := range events {
		e.Sequence = new(c.sequences[ids.SessionID] + int64(i) + 1)
		messages[i] = e.Binary()
	}
	if err := c.publisher.enqueue(ctx, messages...); err != nil {
		return err
	}
	for _, e := range events {
		c.sequences[ids.SessionID] = *e.Sequence
		if s.used != nil {
			s.used(*e.Sequence)
		}
	}
	if s.event != nil {
		*s.event = events[len(events)-1]
	}
	return nil
}

// events makes the checked event of a fact, all but its sequence, and in front
// of it those of the redactions that the guard made in it.
func (c *Client) events(fact schema.Fact, ids schema.Correlation) ([]*schema.Event, error) {
	e, hits, err := c.event(fact, ids)
	if err != nil {
		return nil, err
	}
	var events []*schema.Event
	for _, redaction := range c.redactions(fact, hits) {
		r, _, err := c.event(redaction, ids)
		if err != nil {
			return nil, fmt.Errorf("record the redaction: %w", err)
		}
		events = append(events, r)
	}
	return append(events, e), nil
}

func (c *Client) event(fact schema.Fact, ids schema.Correlation) (*schema.Event, []redact.Hit, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make an event id: %w", err)
	}
	e, err := schema.NewEvent(fact, id.String(), c.source, c.config.Clock(), ids)
	if err != nil {
		return nil, nil, c.hideError(err)
	}
	hits, err := c.hide(e)
	if err != nil {
		return nil, nil, err
	}
	if _, violations := schema.Validate(e); len(violations) > 0 {
		return nil, nil, violations
	}
	return e, hits, nil
}

// Flush returns once the stream has stored every fact recorded so far. After an
// error the facts are still queued and are sent when the stream is back; Flush
// may be called again.
func (c *Client) Flush(ctx context.Context) error { return c.publisher.Flush(ctx) }

// Err says why the oldest recorded facts are not in the stream yet, or nil; see
// [Publisher.Err].
func (c *Client) Err() error { return c.publisher.Err() }

// Source is the CloudEvents source of this client's events.
func (c *Client) Source() string { return c.source }
