package streamio

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// eventsOn publishes n messages, and opens their stream.
func eventsOn(t *testing.T, n int) (jetstream.Stream, uuid.UUID) {
	t.Helper()
	js := emptyServer(t)
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := js.Publish(t.Context(), "ctx.v1.acme.runtime.bucket.turn.started", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	stream, id, err := OpenStream(t.Context(), js, schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	return stream, id
}

// Messages that the server delivered and the client never received must not count as deleted,
// nor as the end of the stream.
func TestReaderNoticesLostMessages(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stream, id := eventsOn(t, 9)
	open := func() *Reader {
		in, err := (&Source{Stream: stream, Incarnation: id}).NewReader(t.Context(), 1)
		must(err)
		t.Cleanup(in.Close)
		return in
	}
	in := open()
	in.delivered++ // the first message looks like a second one
	if _, err := in.ReadBatch(t.Context(), Limits{Messages: 9, Bytes: 1 << 20}, 10*time.Second); !errors.Is(err, ErrUndelivered) {
		t.Errorf("read over a gap: %v", err)
	}
	in = open()
	in.last = 5 // the stream begins again
	if _, err := in.ReadBatch(t.Context(), Limits{Messages: 9, Bytes: 1 << 20}, 10*time.Second); !errors.Is(err, ErrUndelivered) {
		t.Errorf("read backwards: %v", err)
	}
	in = open()
	messages, err := in.ReadBatch(t.Context(), Limits{Messages: 9, Bytes: 1 << 20, Linger: 10 * time.Second}, 10*time.Second)
	if level, levelErr := in.Level(t.Context()); len(messages) != 9 || err != nil || !level || levelErr != nil {
		t.Errorf("read %d, %v; level %v, %v", len(messages), err, level, levelErr)
	}
	in.delivered-- // the last one did not arrive
	for range 2 {
		must(in.Check(t.Context()))
	}
	if err := in.Check(t.Context()); !errors.Is(err, ErrUndelivered) {
		t.Errorf("waits for messages that will not arrive: %v", err)
	}
}

// TestReaderOfAReplicaThatLags: a reader is not level with a replica that has fewer messages than the leader. A
// deleted message at the end of the stream does not keep it from being level, and an absent message waits for
// those before it.
func TestReaderOfAReplicaThatLags(t *testing.T) {
	t.Parallel()
	stream, id := eventsOn(t, 6)
	if err := stream.DeleteMsg(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	read := func(absent ...*Message) []*Message {
		in, err := (&Source{Stream: laggingStream{stream, 2}, Incarnation: id, Absent: absent}).NewReader(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(in.Close)
		if len(absent) > 0 {
			if m, err := in.mergeEnd(t.Context()); !errors.Is(err, errNoMessage) {
				t.Errorf("before any message the reader returns %v, %v", m, err)
			}
		} else if level, err := in.Level(t.Context()); err != nil || level {
			t.Errorf("before any message the reader is level: %v, %v", level, err)
		}
		var messages []*Message
		for level := false; !level; {
			more, err := in.ReadBatch(t.Context(), Limits{Messages: 9, Bytes: 1 << 20}, time.Second)
			if err == nil {
				messages = append(messages, more...)
				level, err = in.Level(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return messages
	}
	if list := read(); len(list) != 5 {
		t.Errorf("read %d messages", len(list))
	}
	list := read(&Message{Erased: new(ErasedLeaf), Position: ledger.Position{Incarnation: id, StreamSeq: 6}})
	if len(list) != 6 {
		t.Fatalf("with the absent one read %d messages", len(list))
	}
	for i, m := range list {
		if m.Position.StreamSeq != uint64(i+1) {
			t.Errorf("message %d has sequence %d", i+1, m.Position.StreamSeq)
		}
	}
}

func TestBatchesEndWithTheMonth(t *testing.T) {
	t.Parallel()
	var stub stubIterator
	for i, at := range []string{"2026-10-31T23:59:59.999999999Z", "2026-11-01T00:00:00Z", "2026-11-01T00:00:01Z", "2027-11-01T00:00:00Z", "2027-10-31T00:00:00Z"} {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		stub = append(stub, stubMessage{seq: uint64(i + 1), at: when})
	}
	in := &Reader{source: new(Source), messages: &stub}
	var cuts []int
	for {
		batch, err := in.ReadBatch(t.Context(), Limits{Messages: 10, Bytes: 1 << 20, Linger: time.Second}, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			break
		}
		cuts = append(cuts, len(batch))
	}
	if want := []int{1, 2, 1, 1}; !slices.Equal(cuts, want) {
		t.Errorf("batches of %v, want %v", cuts, want)
	}
}

// stubIterator returns messages with a chosen time, which a server does not offer.
type stubIterator []stubMessage

func (s *stubIterator) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if len(*s) == 0 {
		return nil, nats.ErrTimeout
	}
	m := (*s)[0]
	*s = (*s)[1:]
	return m, nil
}

func (*stubIterator) Stop() {}

func (*stubIterator) Drain() {}

func (*stubIterator) Closed() <-chan struct{} { return nil }

type stubMessage struct {
	jetstream.Msg
	seq uint64
	at  time.Time
}

func (m stubMessage) Subject() string { return "ctx" }

func (m stubMessage) Headers() nats.Header { return nil }

func (m stubMessage) Data() []byte { return nil }

func (m stubMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Consumer: m.seq, Stream: m.seq}, Timestamp: m.at}, nil
}
