package publish

import (
	"context"

	"github.com/ctxledger/ctxledger/schema"
)

// Stored says where recorded events are kept. The zero value says nowhere.
type Stored string

// Where events are once a wait for them has ended.
const (
	InStream Stored = "stream" // acknowledged by JetStream
	InOutbox Stored = "outbox" // on this machine's disk, and sent when the stream is back
)

// Transport takes a client's events and keeps them. It is safe for concurrent
// use; the order is that of the calls.
type Transport interface {
	// Send takes all of the messages or none, and does not wait until they are
	// stored.
	Send(ctx context.Context, messages ...schema.Message) error
	// Store returns once everything that Send took before the call is stored,
	// and says where: InStream only if all of it is there.
	Store(ctx context.Context) (Stored, error)
	// Flush returns once all of that is in the stream.
	Flush(ctx context.Context) error
	// Err says why the oldest events are not in the stream yet, or nil.
	Err() error
}
