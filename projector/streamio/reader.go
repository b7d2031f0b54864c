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

// A Reader returns the messages of a stream in order, from a sequence on. After an error, make
// a new Reader. Not safe for concurrent use.
//
// A Reader makes a consumer and does not use the client's ordered consumer. After a reconnect
// the ordered consumer continues, even if the stream was created again or restored from an
// older copy.
type Reader struct {
	source    *Source
	consumer  jetstream.Consumer
	messages  jetstream.MessagesContext
	next      *Message   // read, but kept for the next batch
	gone      []*Message // absent messages, to be inserted at their places
	held      *Message   // received, to be returned after earlier messages of gone
	delivered uint64     // messages that this consumer has delivered
	last      uint64     // sequence of the latest message
	at        time.Time  // time of the latest message
	pending   uint64     // messages in the stream after the latest
	stalls    int        // consecutive checks that found more messages on the server
}

const (
	// prefetch is the number of messages that the client requests from the server at a time.
	prefetch = 1000
	// forgetAfter is the time after which the server removes an unused consumer.
	forgetAfter = 5 * time.Minute
)

// NewReader reads the stream from a sequence on, with the absent messages at their old places.
// Erased messages have their leaf in the transparency log. A rebuild also reads the messages
// that were deleted for a withheld value, to quarantine them again.
func (s *Source) NewReader(ctx context.Context, from uint64) (*Reader, error) {
	consumer, err := s.Stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	if _, err := s.StillThere(ctx); err != nil {
		return nil, err // the server removes the consumer later
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
	return &Reader{source: s, consumer: consumer, messages: messages, gone: s.Absent[at:], last: max(from, 1) - 1, pending: consumer.CachedInfo().NumPending}, nil
}

// More returns the number of messages in the stream after the latest.
func (r *Reader) More() uint64 { return r.pending }

// Cut reports whether the next message must begin another batch.
func (r *Reader) Cut() bool { return r.next != nil }

func (r *Reader) Close() {
	r.messages.Stop()
	Forget(context.Background(), r.source.Stream, r.consumer)
}

var (
	// errNoMessage means that no message arrived within the wait.
	errNoMessage = errors.New("no message")
	// ErrUndelivered means that messages were lost in transit from the server, or that a replica lags.
	ErrUndelivered = errors.New("the stream has messages that did not arrive")
	// errReplaced means that the stream was replaced after it was opened.
	errReplaced = errors.New("the stream was created again")
)

func (r *Reader) read(ctx context.Context) (*Message, error) {
	if m := r.next; m != nil {
		r.next = nil
		return m, nil
	}
	if len(r.gone) > 0 || r.held != nil || r.source.Later != nil {
		return r.merge(ctx)
	}
	return r.receive(ctx)
}

// receive returns the next message from the server.
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

// Level reports whether all messages of the stream have been read.
func (r *Reader) Level(ctx context.Context) (bool, error) {
	received, err := r.received(ctx)
	return r.next == nil && r.held == nil && len(r.gone) == 0 && received, err
}

// received reports whether all messages of the server have arrived. In a cluster a replica may serve the reader
// that lags behind the leader. The messages of the leader count.
func (r *Reader) received(ctx context.Context) (bool, error) {
	info, err := r.consumer.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("read the consumer's state: %w", err)
	}
	if info.NumPending > 0 || info.Delivered.Consumer != r.delivered {
		return false, nil
	}
	end, err := endOf(ctx, r.source.Stream, Selection{After: r.last})
	if err != nil {
		return false, fmt.Errorf("read the end of the stream: %w", err)
	}
	return end == 0, nil
}

// Check returns an error after repeated calls without a message. The server may have lost the
// consumer, or the messages may be lost in transit. Without Check the client would wait for
// ever.
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

// Limits bound a batch.
type Limits struct {
	Messages int
	Bytes    int
	Linger   time.Duration
	Last     uint64 // the last sequence to read; 0 means no limit
}

// ReadBatch collects messages until a limit is reached or the linger after the first message
// has passed. A batch also ends at a new month of the stream's time and at new rules. Without
// messages it waits at most idle and returns none.
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
