package schema

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Stream is the contract for one JetStream stream. Replicas belong to the operator, and so do
// limits, except those that a stream names.
type Stream struct {
	Name        string
	Subjects    []string // its filters, such as "ctx.v1.>"
	Description string
	// Duplicates is the time for which the server remembers message ids. 0 selects the server's
	// default.
	Duplicates time.Duration
	// AtomicPublish allows batches that the server stores completely or not at all.
	AtomicPublish bool
	// DiscardNew makes a full stream refuse new messages. A full stream then never drops
	// acknowledged messages.
	DiscardNew bool
	// MaxAge, MaxMessages and MaxPerSubject limit a stream whose old messages may go; 0 is no limit. A
	// limit of bytes would reserve them on the server, and a server without room would refuse the stream.
	MaxAge                     time.Duration
	MaxMessages, MaxPerSubject int64
	// Metadata is the metadata of the stream; nil for none.
	Metadata map[string]string
}

// eventDuplicates is the time for which the server remembers the message ids of events.
const eventDuplicates = 2 * time.Minute

// The names of the streams.
const (
	EventStream      = "CTX"             // all events
	QuarantineStream = "CTX_QUARANTINE"  // refused messages, for replay
	CheckpointStream = "CTX_CHECKPOINTS" // signed tree heads of the transparency log
	NoticeStream     = "CTX_NOTICES"     // notices to publishers
	LastingStream    = "CTX_LASTING"     // copies of facts that outlive the messages of events
)

// Streams returns the streams of the contract, the event stream first. Events are in a single
// stream here. [Partitions] returns the streams of several partitions, and those of one tenant.
func Streams() []Stream {
	return append(Partitions(1).EventStreams(), OtherStreams()...)
}

// OtherStreams returns the streams that hold no events.
func OtherStreams() []Stream {
	return []Stream{
		{Name: QuarantineStream, Subjects: []string{"ctx.quarantine.>"}, Description: "ctxledger refused messages", Duplicates: 2 * time.Minute, DiscardNew: true},
		{Name: CheckpointStream, Subjects: []string{"ctx.checkpoints.>"}, Description: "ctxledger signed log heads", DiscardNew: true},
		{Name: LastingStream, Subjects: []string{LastingSubject(">")}, Description: "ctxledger facts that never expire", Duplicates: 2 * time.Minute, DiscardNew: true},
		{
			Name: NoticeStream, Subjects: []string{noticePrefix + ">"}, Description: "ctxledger notices to publishers", Duplicates: 2 * time.Minute,
			MaxAge: 7 * 24 * time.Hour, MaxMessages: 50_000, MaxPerSubject: 1000,
		},
	}
}

// LastingSubject returns the subject of the copies in [LastingStream] of one stream of events.
func LastingSubject(stream string) string { return "ctx.lasting." + stream }

// Partitions is the number of event streams: a power of two from 1 to 256. All events of a
// session are in the same stream, chosen by its bucket; see [Bucket]. The number is fixed when
// the streams are created. The server knows it: with several streams, each stream has it in its
// metadata under [PartitionsKey]. Tenants share these streams. A tenant may have streams of its own
// instead, with another number.
type Partitions int

// PartitionsKey is the stream metadata with the number of streams. A stream without it is the
// only event stream.
const PartitionsKey = "ctxledger_partitions"

// buckets is the number of buckets.
const buckets = 256

// ParsePartitions reads the number of partitions from text, such as the value of the stream
// metadata. "" is 1.
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

// Validate returns an error if n is not a power of two from 1 to 256.
func (n Partitions) Validate() error {
	if n < 1 || n > buckets || n&(n-1) != 0 {
		return fmt.Errorf("partitions %d: want a power of two from 1 to %d", int(n), buckets)
	}
	return nil
}

// String returns the number.
func (n Partitions) String() string { return strconv.Itoa(int(n)) }

// Of returns the partition of a subject, from 0. Of returns 0 for a subject that belongs to none
// of several streams. n must be valid.
func (n Partitions) Of(subject string) int {
	if n == 1 {
		return 0
	}
	const place = 4 // number of points before the bucket
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

// Stream returns the shared stream of a partition. A single stream is CTX. Several streams are
// CTX_0, CTX_1, …, each with one filter per bucket. Its filters take the events of all tenants.
func (n Partitions) Stream(partition int) Stream { return n.StreamOf("", partition) }

// StreamOf returns the stream of a partition of a tenant with streams of its own: CTX-acme, or
// CTX_0-acme, CTX_1-acme, …. The tenant must have passed [CheckStreamTenant]. "" stands for the
// streams that tenants share.
func (n Partitions) StreamOf(tenant string, partition int) Stream {
	s := Stream{
		Name: n.StreamName(tenant, partition), Subjects: n.SubjectsOf(partition, tenant), Description: "ctxledger context facts",
		Duplicates: eventDuplicates, AtomicPublish: true, DiscardNew: true,
	}
	if n > 1 {
		s.Description += fmt.Sprintf(", partition %d of %d", partition, n)
		s.Metadata = map[string]string{PartitionsKey: n.String()}
	}
	if tenant != "" {
		s.Description += " of tenant " + tenant
	}
	return s
}

// StreamName returns the name of [Partitions.StreamOf].
func (n Partitions) StreamName(tenant string, partition int) string {
	name := EventStream
	if n > 1 {
		name += "_" + strconv.Itoa(partition)
	}
	if tenant != "" {
		name += ownSeparator + tenant
	}
	return name
}

// ownSeparator comes before the tenant in the name of a stream of its own.
const ownSeparator = "-"

// SubjectsOf returns the filters of a partition for the events of tenants. "" stands for all
// tenants. Streams whose filters overlap are refused by the server.
func (n Partitions) SubjectsOf(partition int, tenants ...string) (list []string) {
	for _, tenant := range tenants {
		token := "*"
		if tenant != "" {
			token = escapeToken(tenant)
		}
		switch {
		case n == 1 && tenant == "":
			list = append(list, AllSubjects)
		case n == 1:
			list = append(list, subjectPrefix+token+".>")
		default:
			for each, first := buckets/int(n), partition*buckets/int(n); each > 0; each, first = each-1, first+1 {
				list = append(list, fmt.Sprintf("%s%s.*.p%02x.>", subjectPrefix, token, first))
			}
		}
	}
	return list
}

// TenantSubjects matches every subject of a tenant, and of no other.
func TenantSubjects(tenant string) string { return Partitions(1).SubjectsOf(0, TenantOf(tenant))[0] }

// EventStreams returns the shared streams of all partitions, in order.
func (n Partitions) EventStreams() []Stream { return n.EventStreamsOf("") }

// EventStreamsOf returns the streams of all partitions of a tenant with streams of its own, in
// order. "" stands for the streams that tenants share.
func (n Partitions) EventStreamsOf(tenant string) []Stream {
	list := make([]Stream, n)
	for i := range list {
		list[i] = n.StreamOf(tenant, i)
	}
	return list
}

// ParseStreamName returns the tenant of a stream of events, and its partition. The tenant of a
// shared stream is "". ok is false for the name of another stream.
func ParseStreamName(name string) (tenant string, partition int, ok bool) {
	rest, ok := strings.CutPrefix(name, EventStream)
	number, tenant, own := strings.Cut(rest, ownSeparator)
	if own && CheckStreamTenant(tenant) != nil {
		return "", 0, false
	}
	if number == "" {
		return tenant, 0, ok
	}
	digits, found := strings.CutPrefix(number, "_")
	partition, err := strconv.Atoi(digits)
	ok = ok && found && err == nil && partition >= 0 && partition < buckets && strconv.Itoa(partition) == digits
	return tenant, partition, ok
}

// CheckStreamTenant returns an error if a tenant cannot have streams of its own. Its name is a part
// of the names of the streams and of keys.
func CheckStreamTenant(tenant string) error {
	plain := len(tenant) > 0 && len(tenant) <= 64 && tenant[0] != '-' && tenant[0] != '_'
	for i := 0; plain && i < len(tenant); i++ {
		plain = plainTokenByte(tenant[i])
	}
	if !plain {
		return fmt.Errorf("tenant %q: want up to 64 letters, digits, underscores and hyphens, the first a letter or a digit", Clip(tenant))
	}
	return nil
}

// Notice tells a publisher that the projector quarantined one of its messages. Notices are JSON
// on the subject of [NoticeSubject]. The stream [NoticeStream] keeps them for a limited time. The
// table quarantine has every quarantined message. A notice may come twice: place and time are
// then the same. A notice has no value of the event's data, since an erasure does not reach it.
type Notice struct {
	Outcome    string    `json:"outcome"` // quarantined
	Stream     string    `json:"stream"`
	Sequence   uint64    `json:"sequence"`    // of the message in the stream
	RecordedAt time.Time `json:"recorded_at"` // when the stream stored the message
	Source     string    `json:"source,omitempty"`
	ID         string    `json:"id,omitempty"` // of the event; empty if the envelope could not be read
	Type       string    `json:"type,omitempty"`
	SessionID  string    `json:"session_id,omitempty"`
	Code       Code      `json:"code"`          // of the first violation
	Pointer    string    `json:"pointer"`       // field of the first violation
	Fix        string    `json:"fix,omitempty"` // what to do about it, for people
}

// OutcomeQuarantined is the outcome of a message that the projector quarantined.
const OutcomeQuarantined = "quarantined"

const noticePrefix = "ctxnotice.v1."

// NoticeSubject returns the subject of the notices of a tenant's source:
// ctxnotice.v1.<tenant>.<bucket of the source>.quarantined. Without a source, NoticeSubject
// returns the filter for all notices of the tenant.
func NoticeSubject(tenant, source string) string {
	subject := noticePrefix + escapeToken(TenantOf(tenant))
	if source == "" {
		return subject + ".>"
	}
	return subject + "." + Bucket(source) + "." + OutcomeQuarantined
}
