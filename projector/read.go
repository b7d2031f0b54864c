package projector

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// message is one message of the stream with its place.
type message struct {
	subject  string
	header   map[string][]string
	data     []byte
	position ledger.Position
}

func (m *message) size() int { return len(m.subject) + len(m.data) + 64*len(m.header) }

// A reader yields the messages of a stream in order, from a sequence on. After
// an error it is of no more use: make another one. Not safe for concurrent use.
//
// It is a consumer of its own making and not the client's ordered one, which
// after a reconnect goes on by itself where it was, even if the stream has been
// made anew or was restored from an older copy meanwhile.
type reader struct {
	stream      jetstream.Stream
	consumer    jetstream.Consumer
	messages    jetstream.MessagesContext
	incarnation uuid.UUID
	next        *message // read, but left for the next batch
	delivered   uint64   // messages that this consumer has delivered
	last        uint64   // sequence of the latest
	stalls      int      // checks in a row that found more on the server
}

const (
	// prefetch is how many messages the client asks the server for at a time.
	prefetch = 5000
	// forgetAfter is when the server drops a consumer that nobody reads.
	forgetAfter = 5 * time.Minute
)

func newReader(ctx context.Context, stream jetstream.Stream, incarnation uuid.UUID, from uint64) (*reader, error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	return &reader{stream: stream, consumer: consumer, messages: messages, incarnation: incarnation, last: max(from, 1) - 1}, nil
}

func (r *reader) close() {
	r.messages.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = r.stream.DeleteConsumer(ctx, r.consumer.CachedInfo().Name) // or the server forgets it
}

var (
	// errNoMessage means that none came within the wait.
	errNoMessage = errors.New("no message")
	// errReader means that messages were lost on the way from the server.
	errReader = errors.New("the server delivered messages that did not arrive")
)

func (r *reader) read(ctx context.Context) (*message, error) {
	if m := r.next; m != nil {
		r.next = nil
		return m, nil
	}
	msg, err := r.messages.Next(jetstream.NextContext(ctx))
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, errNoMessage
	case err != nil:
		return nil, fmt.Errorf("read stream: %w", err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, fmt.Errorf("read stream: %w", err)
	}
	if meta.Sequence.Consumer != r.delivered+1 || meta.Sequence.Stream <= r.last {
		return nil, fmt.Errorf("read stream after %d: %w", r.last, errReader)
	}
	r.delivered, r.last, r.stalls = meta.Sequence.Consumer, meta.Sequence.Stream, 0
	return &message{
		subject: msg.Subject(), header: msg.Headers(), data: msg.Data(),
		position: ledger.Position{Incarnation: r.incarnation, StreamSeq: meta.Sequence.Stream, RecordedAt: meta.Timestamp.UTC()},
	}, nil
}

// level reports whether everything that the stream holds has been read.
func (r *reader) level(ctx context.Context) (bool, error) {
	info, err := r.consumer.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("look at the reader: %w", err)
	}
	return r.next == nil && info.NumPending == 0 && info.Delivered.Consumer == r.delivered, nil
}

// check is for when nothing has come for a while: the server may have lost the
// consumer, or the messages their way. The client alone would wait for ever.
func (r *reader) check(ctx context.Context) error {
	level, err := r.level(ctx)
	if err != nil || level {
		r.stalls = 0
		return err
	}
	if r.stalls++; r.stalls >= 3 {
		return fmt.Errorf("read stream after %d: %w", r.last, errReader)
	}
	return nil
}

// batchLimits say when a batch is full.
type batchLimits struct {
	messages int
	bytes    int
	linger   time.Duration
	last     uint64 // the last sequence to read; 0 is no end
}

// readBatch collects messages until a limit is reached, nothing came for the
// linger after the first, or the month of the stream's time changes. With
// nothing to read it waits for at most idle and returns no messages.
func (r *reader) readBatch(ctx context.Context, limits batchLimits, idle time.Duration) ([]*message, error) {
	first, err := r.readFirst(ctx, idle)
	if errors.Is(err, errNoMessage) {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	batch, bytes := []*message{first}, first.size()
	lingering, cancel := context.WithTimeout(ctx, limits.linger)
	defer cancel()
	for len(batch) < limits.messages && bytes < limits.bytes && batch[len(batch)-1].position.StreamSeq != limits.last {
		m, err := r.read(lingering)
		if errors.Is(err, errNoMessage) {
			break
		}
		if err != nil {
			return nil, err
		}
		if month(m) != month(first) || limits.last > 0 && m.position.StreamSeq > limits.last {
			r.next = m
			break
		}
		batch, bytes = append(batch, m), bytes+m.size()
	}
	return batch, nil
}

func (r *reader) readFirst(ctx context.Context, idle time.Duration) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return r.read(ctx)
}

func month(m *message) int {
	t := m.position.RecordedAt
	return t.Year()*12 + int(t.Month())
}

// rangeOf names a batch: its sequences, and a digest over all that rows are
// derived from, so that the range can be recognised when it is read again.
func rangeOf(batch []*message) ledger.Range {
	first, last := batch[0].position, batch[len(batch)-1].position
	r := ledger.Range{
		Incarnation: first.Incarnation, First: first.StreamSeq, Last: last.StreamSeq,
		Messages: uint64(len(batch)), RecordedAt: last.RecordedAt,
	}
	h := sha256.New()
	var scratch []byte
	var names []string
	for _, m := range batch {
		names = slices.AppendSeq(names[:0], maps.Keys(m.header))
		slices.Sort(names)
		scratch = appendMessage(scratch[:0], m, names)
		h.Write(scratch)
	}
	h.Sum(r.Digest[:0])
	return r
}

// appendMessage writes a message so that no two read the same. names are the
// sorted names of its headers.
func appendMessage(b []byte, m *message, names []string) []byte {
	b = binary.BigEndian.AppendUint64(b, m.position.StreamSeq)
	b = binary.BigEndian.AppendUint64(b, uint64(m.position.RecordedAt.UnixNano()))
	b = appendText(b, m.subject)
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = appendText(b, name)
		b = binary.AppendUvarint(b, uint64(len(m.header[name])))
		for _, value := range m.header[name] {
			b = appendText(b, value)
		}
	}
	return appendText(b, m.data)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
