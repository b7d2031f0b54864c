package schema

import "time"

// A Stream is what the contract says of one JetStream stream. Limits and
// replicas belong to the operator and are no part of it.
type Stream struct {
	Name        string
	Subjects    []string // its filters, such as "ctx.v1.>"
	Description string
	// Duplicates is how long the server remembers message ids; 0 leaves it to
	// the server.
	Duplicates time.Duration
	// AtomicPublish allows batches that are stored as a whole or not at all.
	AtomicPublish bool
	// DiscardNew refuses what does not fit, so that a full stream never drops
	// what it has acknowledged.
	DiscardNew bool
	// Metadata is what the stream says of itself; nil for nothing.
	Metadata map[string]string
}

// eventDuplicates is how long the server remembers the message ids of events.
const eventDuplicates = 2 * time.Minute

// The names of the streams.
const (
	EventStream      = "CTX"             // every event, the truth
	QuarantineStream = "CTX_QUARANTINE"  // what was refused, for replay
	CheckpointStream = "CTX_CHECKPOINTS" // signed heads of the log
)

// Streams returns the streams of the contract, the events first, which are in
// one stream here; [Partitions] has those of several.
func Streams() []Stream {
	return append(Partitions(1).EventStreams(), OtherStreams()...)
}

// OtherStreams returns the streams that hold no events.
func OtherStreams() []Stream {
	return []Stream{
		{Name: QuarantineStream, Subjects: []string{"ctx.quarantine.>"}, Description: "ctxledger refused messages", Duplicates: 2 * time.Minute, DiscardNew: true},
		{Name: CheckpointStream, Subjects: []string{"ctx.checkpoints.>"}, Description: "ctxledger signed log heads", DiscardNew: true},
	}
}
