package projector

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
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

// A reader yields the messages of a stream in order, from a sequence on. Not
// safe for concurrent use.
type reader struct {
	messages    jetstream.MessagesContext
	incarnation uuid.UUID
	next        *message // read, but left for the next batch
}

// prefetch is how many messages the client asks the server for at a time.
const prefetch = 5000

func newReader(ctx context.Context, stream jetstream.Stream, incarnation uuid.UUID, from uint64) (*reader, error) {
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
	})
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	return &reader{messages: messages, incarnation: incarnation}, nil
}

func (r *reader) close() { r.messages.Stop() }

// errNoMessage means that none came within the wait.
var errNoMessage = errors.New("no message")

func (r *reader) read(ctx context.Context, wait time.Duration) (*message, error) {
	if m := r.next; m != nil {
		r.next = nil
		return m, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
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
	return &message{
		subject: msg.Subject(), header: msg.Headers(), data: msg.Data(),
		position: ledger.Position{Incarnation: r.incarnation, StreamSeq: meta.Sequence.Stream, RecordedAt: meta.Timestamp.UTC()},
	}, nil
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
	first, err := r.read(ctx, idle)
	if errors.Is(err, errNoMessage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	batch, bytes := []*message{first}, first.size()
	deadline := time.Now().Add(limits.linger)
	for len(batch) < limits.messages && bytes < limits.bytes && batch[len(batch)-1].position.StreamSeq != limits.last {
		m, err := r.read(ctx, time.Until(deadline))
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

func month(m *message) int {
	t := m.position.RecordedAt
	return t.Year()*12 + int(t.Month())
}

// rangeOf names a batch: its sequences, and a digest over every byte that was
// read, so that the range can be recognised when it is read again.
func rangeOf(batch []*message) ledger.Range {
	first, last := batch[0].position, batch[len(batch)-1].position
	r := ledger.Range{
		Incarnation: first.Incarnation, First: first.StreamSeq, Last: last.StreamSeq,
		Messages: uint64(len(batch)), RecordedAt: last.RecordedAt,
	}
	h := sha256.New()
	var scratch []byte
	for _, m := range batch {
		scratch = appendMessage(scratch[:0], m)
		h.Write(scratch)
	}
	h.Sum(r.Digest[:0])
	return r
}

func appendMessage(b []byte, m *message) []byte {
	b = binary.BigEndian.AppendUint64(b, m.position.StreamSeq)
	b = appendText(b, m.subject)
	names := make([]string, 0, len(m.header))
	for name := range m.header {
		names = append(names, name)
	}
	slices.Sort(names)
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range names {
		b = appendText(b, name)
		b = binary.AppendUvarint(b, uint64(len(m.header[name])))
		for _, value := range m.header[name] {
			b = appendText(b, value)
		}
	}
	return appendText(b, string(m.data))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
