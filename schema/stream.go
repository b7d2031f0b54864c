package schema

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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

// Partitions is in how many streams the events are: a power of two from 1 to
// 256. All events of a session are in one, chosen by its bucket; see [Bucket].
// It is fixed when the streams are created, and found from the server: each of
// several streams names it in its metadata under [PartitionsKey].
type Partitions int

// PartitionsKey is the stream metadata that says of how many streams this one
// is. A stream without it is the only one.
const PartitionsKey = "ctxledger_partitions"

// buckets is how many buckets there are.
const buckets = 256

// ParsePartitions reads a number, or what stream metadata says: "" is 1.
func ParsePartitions(text string) (Partitions, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("partitions %q: want a number", text)
	}
	return Partitions(n), Partitions(n).Validate()
}

// Validate refuses what is no power of two from 1 to 256.
func (n Partitions) Validate() error {
	if n < 1 || n > buckets || n&(n-1) != 0 {
		return fmt.Errorf("partitions %d: want a power of two from 1 to %d", int(n), buckets)
	}
	return nil
}

// String returns the number.
func (n Partitions) String() string { return strconv.Itoa(int(n)) }

// Of returns the partition that a subject belongs to, from 0, and 0 for one
// that no stream of several takes. n must be valid.
func (n Partitions) Of(subject string) int {
	if n == 1 {
		return 0
	}
	const place = 4 // of the bucket, counted in points
	for range place {
		subject = subject[strings.IndexByte(subject, '.')+1:]
	}
	token, _, _ := strings.Cut(subject, ".")
	bucket, err := strconv.ParseUint(strings.TrimPrefix(token, "p"), 16, 8)
	if err != nil {
		return 0
	}
	return int(bucket) * int(n) / buckets
}

// Stream returns the stream of a partition: CTX where it is the only one, or
// else CTX_0, CTX_1, … with a filter for each of its buckets.
func (n Partitions) Stream(partition int) Stream {
	s := Stream{
		Name: EventStream, Subjects: []string{AllSubjects}, Description: "ctxledger context facts",
		Duplicates: eventDuplicates, AtomicPublish: true, DiscardNew: true,
	}
	if n == 1 {
		return s
	}
	s.Name = EventStream + "_" + strconv.Itoa(partition)
	s.Description += fmt.Sprintf(", partition %d of %d", partition, n)
	s.Metadata = map[string]string{PartitionsKey: n.String()}
	s.Subjects = nil
	for each, first := buckets/int(n), partition*buckets/int(n); each > 0; each, first = each-1, first+1 {
		s.Subjects = append(s.Subjects, fmt.Sprintf("%s*.*.p%02x.>", subjectPrefix, first))
	}
	return s
}

// EventStreams returns the streams of all partitions, in order.
func (n Partitions) EventStreams() []Stream {
	list := make([]Stream, n)
	for i := range list {
		list[i] = n.Stream(i)
	}
	return list
}
