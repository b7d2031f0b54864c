package schema

import (
	"bytes"
	_ "embed"
	"time"
)

//go:embed asyncapi.json
var asyncAPI []byte

// AsyncAPI returns the AsyncAPI 3 document of everything that ctxledger reads
// and writes on NATS: a channel per subject, the messages of each in both
// content modes, the headers, the schemas and the streams. It is generated
// from the Go types. The caller may change the bytes.
func AsyncAPI() []byte { return bytes.Clone(asyncAPI) }

// A Stream is what the contract says of one JetStream stream. Limits and
// replicas belong to the operator and are no part of it.
type Stream struct {
	Name        string
	Subject     string // the one filter, such as "ctx.v1.>"
	Description string
	// Duplicates is how long the server remembers message ids; 0 leaves it to
	// the server.
	Duplicates time.Duration
	// AtomicPublish allows batches that are stored as a whole or not at all.
	AtomicPublish bool
	// DiscardNew refuses what does not fit, so that a full stream never drops
	// what it has acknowledged.
	DiscardNew bool
}

// The names of the streams.
const (
	EventStream      = "CTX"             // every event, the truth
	QuarantineStream = "CTX_QUARANTINE"  // what was refused, for replay
	CheckpointStream = "CTX_CHECKPOINTS" // signed heads of the log
)

// Streams returns the streams of the contract, the events first.
func Streams() []Stream {
	return []Stream{
		{EventStream, AllSubjects, "ctxledger context facts", 2 * time.Minute, true, true},
		{QuarantineStream, "ctx.quarantine.>", "ctxledger refused messages", 2 * time.Minute, false, true},
		{CheckpointStream, "ctx.checkpoints.>", "ctxledger signed log heads", 0, false, true},
	}
}
