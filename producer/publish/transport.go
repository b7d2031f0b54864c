package publish

import (
	"context"

	"github.com/ctxledger/ctxledger/schema"
)

// Stored is the place where recorded events are stored. The zero value means nowhere.
type Stored string

// Places of events after a wait for them.
const (
	InStream Stored = "stream" // acknowledged by JetStream
	InOutbox Stored = "outbox" // on this machine's disk, and sent when the stream is available
)

// Transport takes and stores a client's events. A Transport is safe for concurrent use. The
// order is the order of the calls.
type Transport interface {
	// Send takes all of the messages or none, and does not wait until they are stored.
	Send(ctx context.Context, messages ...schema.Message) error
	// Store returns when all messages of earlier calls of Send are stored, with their
	// place. The place is InStream only if all of them are in the stream.
	Store(ctx context.Context) (Stored, error)
	// Flush returns when all messages of earlier calls of Send are in the stream.
	Flush(ctx context.Context) error
	// Err returns the reason why the oldest events are not yet in the stream, or nil.
	Err() error
}
