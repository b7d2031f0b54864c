package publish

import (
	"github.com/go-json-experiment/json"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/schema"
)

// Outbox keeps batches on this machine's disk until the stream has stored them. Package
// outbox implements an Outbox. One client in one process uses an Outbox at a time. Its
// methods are safe for concurrent use.
type Outbox interface {
	// Instance returns the producer that the outbox belongs to. The instance never changes.
	Instance() string
	// Marks returns the highest value that was appended under each name.
	Marks() (map[string]int64, error)
	// Append adds a batch at the end and raises the marks, both or neither. The batch is
	// durable when Append returns. Numbers ascend from 1. With an error nothing was
	// appended. An error that wraps os.ErrClosed is permanent.
	Append(messages []schema.Message, marks map[string]int64) (number uint64, err error)
	// Head returns the oldest batch, unchanged, or number 0 for an empty outbox.
	Head() (number uint64, messages []schema.Message, err error)
	// Drop removes the oldest batch if its number is equal to number, and keeps the last
	// acknowledged stream sequence.
	Drop(number, acked uint64) error
	// Held returns the number of the newest waiting batch, or 0, and the number of waiting
	// facts.
	Held() (newest uint64, facts int)
	// Acked returns the acked argument of the last Drop, or 0.
	Acked() uint64
}

// Kinds of marks. A mark's name is the kind, the source and the session. The name of a
// position also has the thread. Names have the form of the messages' headers, without white
// space.
const (
	SequenceMark = "sequence" // the last sequence of a session
	PositionMark = "position" // the last position in a thread's item log
)

// marksOf returns the sequences and positions that a batch uses.
func marksOf(batch []*nats.Msg) map[string]int64 {
	marks := make(map[string]int64)
	for _, m := range batch {
		sequence, err := strconv.ParseInt(header(m, "ce-sequence"), 10, 64)
		if err != nil {
			continue
		}
		scope := header(m, "ce-source") + " " + header(m, "ce-sessionid")
		name := SequenceMark + " " + scope
		marks[name] = max(marks[name], sequence)
		if header(m, "ce-type") != logAppended {
			continue
		}
		var entry struct {
			Position *int64 `json:"position"`
		}
		if json.Unmarshal(m.Data, &entry) == nil && entry.Position != nil {
			name := PositionMark + " " + scope + " " + header(m, "ce-threadid")
			marks[name] = max(marks[name], *entry.Position)
		}
	}
	return marks
}

var logAppended = schema.TypeLogAppended.CloudEventsType()

// header is nats.Header.Get without its conversion of names, because the contract defines
// their case.
func header(m *nats.Msg, name string) string {
	if values := m.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// toMessages and fromMessages share all memory with their argument.
func toMessages(batch []*nats.Msg) []schema.Message {
	messages := make([]schema.Message, len(batch))
	for i, m := range batch {
		messages[i] = schema.Message{Subject: m.Subject, Header: m.Header, Data: m.Data}
	}
	return messages
}

func fromMessages(messages []schema.Message) []*nats.Msg {
	batch := make([]*nats.Msg, len(messages))
	for i, m := range messages {
		batch[i] = &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
	}
	return batch
}
