package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

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
	next        *message   // read, but left for the next batch
	gone        []*message // to be put in where they stood
	held        *message   // received, to come after those of gone
	delivered   uint64     // messages that this consumer has delivered
	last        uint64     // sequence of the latest
	at          time.Time  // of the latest
	pending     uint64     // messages that the stream had behind it
	stalls      int        // checks in a row that found more on the server
	rules       rules      // of the stream
}

const (
	// prefetch is how many messages the client asks the server for at a time.
	prefetch = 1000
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
	if err := stillThere(ctx, stream, incarnation); err != nil {
		return nil, err // the server forgets the consumer
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return nil, fmt.Errorf("read stream from %d: %w", from, err)
	}
	return &reader{stream: stream, consumer: consumer, messages: messages, incarnation: incarnation, last: max(from, 1) - 1}, nil
}

// stillThere makes sure that a consumer that was just made reads the incarnation
// that was opened: a stream of the same name may have taken its place meanwhile.
func stillThere(ctx context.Context, stream jetstream.Stream, incarnation uuid.UUID) error {
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	if info.Config.Metadata[incarnationKey] != incarnation.String() {
		return errReplaced
	}
	return nil
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
	// errReplaced means that the stream is another one than when it was opened.
	errReplaced = errors.New("the stream was made anew")
)

func (r *reader) read(ctx context.Context) (*message, error) {
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
func (r *reader) receive(ctx context.Context) (*message, error) {
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
	r.delivered, r.last, r.pending, r.stalls = meta.Sequence.Consumer, meta.Sequence.Stream, meta.NumPending, 0
	r.at = meta.Timestamp.UTC()
	return &message{
		rules:   r.rules.at(meta.Sequence.Stream),
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
	return r.next == nil && r.held == nil && len(r.gone) == 0 && r.received(info), nil
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
// linger after the first, or the month of the stream's time or the rules change. With
// nothing to read it waits for at most idle and returns no messages.
func (r *reader) readBatch(ctx context.Context, limits batchLimits, idle time.Duration) ([]*message, error) {
	first, err := r.readFirst(ctx, idle)
	if errors.Is(err, errNoMessage) {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	first.arrived = time.Now()
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
		if month(m) != month(first) || m.rules != first.rules || limits.last > 0 && m.position.StreamSeq > limits.last {
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
