package publish

import (
	"github.com/go-json-experiment/json"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/schema"
)

// Outbox keeps batches on this machine's disk until the stream has them. Package
// outbox has one. One client at a time uses it, in one process; its methods may
// be called at the same time.
type Outbox interface {
	// Instance names the producer that the outbox belongs to, for as long as the
	// outbox exists.
	Instance() string
	// Marks returns the highest value that was appended under each name.
	Marks() (map[string]int64, error)
	// Append puts a batch behind the others and raises the marks, both or none,
	// and is durable on return. Numbers ascend from 1. With an error nothing was
	// appended; one that wraps os.ErrClosed is for good.
	Append(messages []schema.Message, marks map[string]int64) (number uint64, err error)
	// Head returns the oldest batch as it was appended, or number 0 when there is
	// none.
	Head() (number uint64, messages []schema.Message, err error)
	// Drop removes the oldest batch if that is its number, and keeps the stream
	// sequence that was acknowledged last.
	Drop(number, acked uint64) error
	// Held returns the number of the newest batch that waits, 0 for none, and how
	// many facts wait.
	Held() (newest uint64, facts int)
	// Acked returns what the last Drop was told, or 0.
	Acked() uint64
}

// Kinds of marks. A mark's name is the kind, the source and the session, and for
// a position the thread, as they stand in the messages' headers, so without a
// white space.
const (
	SequenceMark = "sequence" // the last sequence of a session
	PositionMark = "position" // the last position in a thread's item log
)

// marksOf returns the sequences and positions that a batch uses up.
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

// header is nats.Header.Get without its care for the case of names, which are
// the contract's.
func header(m *nats.Msg, name string) string {
	if values := m.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// toMessages and fromMessages share everything with what they convert.
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
