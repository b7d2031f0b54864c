package streamio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// A Reader yields the messages of a stream in order, from a sequence on. After
// an error it is of no more use: make another one. Not safe for concurrent use.
//
// It is a consumer of its own making and not the client's ordered one, which
// after a reconnect goes on by itself where it was, even if the stream has been
// made anew or was restored from an older copy meanwhile.
type Reader struct {
	source    *Source
	consumer  jetstream.Consumer
	messages  jetstream.MessagesContext
	next      *Message   // read, but left for the next batch
	gone      []*Message // to be put in where they stood
	held      *Message   // received, to come after those of gone
	delivered uint64     // messages that this consumer has delivered
	last      uint64     // sequence of the latest
	at        time.Time  // of the latest
	pending   uint64     // messages that the stream had behind it
	stalls    int        // checks in a row that found more on the server
}

const (
	// prefetch is how many messages the client asks the server for at a time.
	prefetch = 1000
	// forgetAfter is when the server drops a consumer that nobody reads.
	forgetAfter = 5 * time.Minute
)

// NewReader reads the stream from a sequence on, with what is absent in its old
// place: what was erased, which has its leaf in the transparency log, and for a rebuild
// what is gone for a withheld value, so that it is in quarantine again.
func (s *Source) NewReader(ctx context.Context, from uint64) (*Reader, error) {
	consumer, err := s.Stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	if _, err := s.StillThere(ctx); err != nil {
		return nil, err // the server forgets the consumer
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	at, _ := slices.BinarySearchFunc(s.Absent, from, func(m *Message, from uint64) int {
		if m.Position.StreamSeq < from {
			return -1
		}
		return 1
	})
	return &Reader{source: s, consumer: consumer, messages: messages, gone: s.Absent[at:], last: max(from, 1) - 1}, nil
}

// More is how many messages the stream had behind the latest.
func (r *Reader) More() uint64 { return r.pending }

// Cut reports whether the next message is to begin another batch.
func (r *Reader) Cut() bool { return r.next != nil }

func (r *Reader) Close() {
	r.messages.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = r.source.Stream.DeleteConsumer(ctx, r.consumer.CachedInfo().Name) // or the server forgets it
}

var (
	// errNoMessage means that none came within the wait.
	errNoMessage = errors.New("no message")
	// ErrUndelivered means that messages were lost on the way from the server.
	ErrUndelivered = errors.New("the server delivered messages that did not arrive")
	// errReplaced means that the stream is another one than when it was opened.
	errReplaced = errors.New("the stream was made anew")
)

func (r *Reader) read(ctx context.Context) (*Message, error) {
	if m := r.next; m != nil {
		r.next = nil
		return m, nil
	}
	if len(r.gone) > 0 || r.held != nil {
		return r.merge(ctx)
	}
	return r.receive(ctx)
}

// receive returns the next message that the server sends.
func (r *Reader) receive(ctx context.Context) (*Message, error) {
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
		return nil, fmt.Errorf("read stream after %d: %w", r.last, ErrUndelivered)
	}
	r.delivered, r.last, r.pending, r.stalls = meta.Sequence.Consumer, meta.Sequence.Stream, meta.NumPending, 0
	r.at = meta.Timestamp.UTC()
	return &Message{
		Rules:   r.source.Rules.At(meta.Sequence.Stream),
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(),
		Position: ledger.Position{Incarnation: r.source.Incarnation, StreamSeq: meta.Sequence.Stream, RecordedAt: meta.Timestamp.UTC()},
	}, nil
}

// Level reports whether everything that the stream holds has been read.
func (r *Reader) Level(ctx context.Context) (bool, error) {
	info, err := r.consumer.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("look at the reader: %w", err)
	}
	return r.next == nil && r.held == nil && len(r.gone) == 0 && r.received(info), nil
}

// Check is for when nothing has come for a while: the server may have lost the
// consumer, or the messages their way. The client alone would wait for ever.
func (r *Reader) Check(ctx context.Context) error {
	level, err := r.Level(ctx)
	if err != nil || level {
		r.stalls = 0
		return err
	}
	if r.stalls++; r.stalls >= 3 {
		return fmt.Errorf("read stream after %d: %w", r.last, ErrUndelivered)
	}
	return nil
}

// Limits say when a batch is full.
type Limits struct {
	Messages int
	Bytes    int
	Linger   time.Duration
	Last     uint64 // the last sequence to read; 0 is no end
}

// ReadBatch collects messages until a limit is reached, nothing came for the
// linger after the first, or the month of the stream's time or the rules change. With
// nothing to read it waits for at most idle and returns no messages.
func (r *Reader) ReadBatch(ctx context.Context, limits Limits, idle time.Duration) ([]*Message, error) {
	first, err := r.readFirst(ctx, idle)
	if errors.Is(err, errNoMessage) {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	first.Arrived = time.Now()
	batch, bytes := []*Message{first}, first.Size()
	lingering, cancel := context.WithTimeout(ctx, limits.Linger)
	defer cancel()
	for len(batch) < limits.Messages && bytes < limits.Bytes && batch[len(batch)-1].Position.StreamSeq != limits.Last {
		m, err := r.read(lingering)
		if errors.Is(err, errNoMessage) {
			break
		}
		if err != nil {
			return nil, err
		}
		if month(m) != month(first) || m.Rules != first.Rules || limits.Last > 0 && m.Position.StreamSeq > limits.Last {
			r.next = m
			break
		}
		batch, bytes = append(batch, m), bytes+m.Size()
	}
	return batch, nil
}

func (r *Reader) readFirst(ctx context.Context, idle time.Duration) (*Message, error) {
	ctx, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return r.read(ctx)
}
