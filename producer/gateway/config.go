package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Refusals of [Config.Tenant].
var (
	// ErrUnauthenticated means that the request proves no identity. The answer is 401.
	ErrUnauthenticated = errors.New("the request has no valid token")
	// ErrForbidden means that the identity may not publish. The answer is 403.
	ErrForbidden = errors.New("the token does not allow to publish")
)

// Config configures a [Handler].
type Config struct {
	// JetStream stores the events. Its account must be allowed to publish on the subjects of
	// all tenants that Tenant returns.
	JetStream jetstream.JetStream
	// Tenant returns the tenant of a request. Its errors are ErrUnauthenticated and
	// ErrForbidden. Nil binds every request to schema.DefaultTenant.
	Tenant func(*http.Request) (string, error)
	// Telemetry records the model calls of OTLP bodies. Nil refuses them.
	Telemetry Telemetry
	// MaxBody is the limit of a body, compressed and decompressed, in bytes.
	MaxBody int
	// MaxEvents is the largest number of events in a request.
	MaxEvents int
	// MaxRequests is the largest number of requests under way. Further requests get 429.
	MaxRequests int
	// MaxMemory limits the bytes that bodies under way and their events take. Requests that
	// find no room get 429.
	MaxMemory int
	// BodyTimeout is the time in which a body must arrive, and in which the client must read its answer.
	BodyTimeout time.Duration
	// StoreTimeout is the time in which JetStream must acknowledge the events.
	StoreTimeout time.Duration
	// Log receives errors of the server, without content of events. Log may be nil.
	Log *slog.Logger
}

// DefaultConfig returns the limits of an installation on one machine.
func DefaultConfig(js jetstream.JetStream) Config {
	return Config{
		JetStream: js, MaxBody: 8 << 20, MaxEvents: 10_000, MaxRequests: 256, MaxMemory: 128 << 20,
		BodyTimeout: 30 * time.Second, StoreTimeout: 10 * time.Second,
	}
}

// Validate returns an error if a limit is missing, or too small for one request.
func (c Config) Validate() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxBody", int64(c.MaxBody)}, {"MaxEvents", int64(c.MaxEvents)}, {"MaxRequests", int64(c.MaxRequests)},
		{"BodyTimeout", int64(c.BodyTimeout)}, {"StoreTimeout", int64(c.StoreTimeout)},
	} {
		if limit.value < 1 {
			return fmt.Errorf("gateway: %s is %d; set it to more than 0", limit.name, limit.value)
		}
	}
	if most := bodyCost*c.MaxBody + zstdWindow; c.MaxMemory < most {
		return fmt.Errorf("gateway: MaxMemory is %d; a body of MaxBody bytes needs %d", c.MaxMemory, most)
	}
	if c.JetStream == nil {
		return errors.New("gateway: JetStream is nil; set it to the place of the events")
	}
	return nil
}
