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
	// Required.
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
	// Linger is the longest that a fact waits for its batch. Defaults to 100 ms.
	Linger time.Duration
	// Clock tells when facts happen. Defaults to time.Now.
	Clock func() time.Time
}

// DefaultConfig publishes on nc under the default names.
func DefaultConfig(nc *nats.Conn) Config {
	return Config{NATS: nc, Tenant: schema.DefaultTenant, Runtime: schema.DefaultRuntime, Linger: 100 * time.Millisecond}
}

// Validate reports what is missing.
func (c Config) Validate() error {
	switch {
	case c.NATS == nil:
		return errors.New("producer: NATS is required")
	case c.Tenant == "" || c.Runtime == "":
		return errors.New("producer: Tenant and Runtime are required")
	case c.Linger < 0:
		return errors.New("producer: Linger must not be negative")
	}
	return nil
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
}

// Connect checks that the stream is there and returns a client.
func Connect(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Instance == "" {
		c.Instance = uuid.NewString()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Counter == nil {
		c.Counter = window.NewCounter(window.CounterConfig{})
	}
	js, err := jetstream.New(c.NATS)
	if err != nil {
		return nil, fmt.Errorf("use jetstream: %w", err)
	}
	if _, err := js.StreamNameBySubject(ctx, schema.AllSubjects); err != nil {
		return nil, fmt.Errorf("find the stream for %s (run `ctxledger migrate`): %w", schema.AllSubjects, err)
	}
	client := &Client{
		config: c, source: "urn:ctxledger:runtime:" + url.PathEscape(c.Runtime) + ":" + url.PathEscape(c.Instance),
		publisher: NewPublisher(js, c.Linger), sequences: make(map[string]int64),
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
// and a time from the clock. Values that the guard withholds are masked before
// anything leaves the process. It returns schema.Violations for a fact that
// the contract refuses; a refused fact uses up no sequence. A nil error is not
// yet durable: see [Client.Flush].
func (c *Client) Record(ctx context.Context, fact schema.Fact, ids schema.Correlation) (*schema.Event, error) {
	ids.Tenant, ids.RuntimeID = c.config.Tenant, c.config.Runtime
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make an event id: %w", err)
	}
	e, err := schema.NewEvent(fact, id.String(), c.source, c.config.Clock(), ids)
	if err != nil {
		return nil, err
	}
	if c.config.Guard != nil {
		if e.Data, _, err = c.config.Guard.MaskJSON(e.Data); err != nil {
			return nil, fmt.Errorf("mask withheld values: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.sequences[ids.SessionID] + 1
	e.Sequence = &next
	if err := c.publisher.Publish(ctx, e); err != nil {
		return nil, err
	}
	c.sequences[ids.SessionID] = next
	return e, nil
}

// Flush returns once the stream has stored every fact recorded so far.
func (c *Client) Flush(ctx context.Context) error { return c.publisher.Flush(ctx) }

// Source is the CloudEvents source of this client's events.
func (c *Client) Source() string { return c.source }

// used returns the last sequence used in a session.
func (c *Client) used(session string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sequences[session]
}
