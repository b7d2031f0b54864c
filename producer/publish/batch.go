package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// maxBatch is the most messages that JetStream takes as one atomic batch.
const maxBatch = 1000

// maxBatchBytes keeps a batch within what the NATS client buffers (8 MiB) when
// the connection breaks in the middle of it.
const maxBatchBytes = 4 << 20

const (
	// A try to store a batch waits connectTimeout for the connection, attemptTimeout
	// for the batch, and where that is looked for first, lookTimeout for each answer.
	connectTimeout, attemptTimeout, lookTimeout = 5 * time.Second, 10 * time.Second, 5 * time.Second
)

// sender stores batches in the stream, in order, one after the other. It is for
// one goroutine at a time.
type sender struct {
	js       jetstream.JetStream
	subject  string // one of the stream's filters; "" is all subjects
	stream   string // its name, "" until it is known
	acked    uint64 // the stream sequence that was acknowledged last
	located  bool   // acked is known: what this sender stores comes after it
	refusals *refusals
	taken    *takenIDs // nil counts nothing
	retries  bool      // the batch was tried before
	blind    bool      // the account may not read the stream
}

// try tries once to store a batch, and returns once the stream has it. Again
// says that the stream may have it, or a part of it, from an earlier try: then
// it is looked for first, so that nothing is stored twice however long ago that
// was.
func (s *sender) try(batch []*nats.Msg, again bool) error {
	up, stop := context.WithTimeout(context.Background(), connectTimeout)
	defer stop()
	if err := connected(up, s.js.Conn()); err != nil {
		return err
	}
	s.retries = again
	if again {
		missing, err := s.missing(batch)
		if err != nil {
			return fmt.Errorf("look for the batch in the stream: %w", err)
		}
		if len(missing) == 0 {
			return nil
		}
		batch = missing
	} else {
		s.locate()
	}
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	return s.store(ctx, batch)
}

// store publishes a batch and takes out of its way what the server refuses.
func (s *sender) store(ctx context.Context, batch []*nats.Msg) error {
	if s.refusals == nil {
		return s.publish(ctx, batch)
	}
	batch, lost := s.refusals.replaceKnown(batch)
	err := s.publish(ctx, batch)
	if s.refusals.possible(err, s.js.Conn()) {
		err = s.publishSingly(ctx, batch)
	}
	if err == nil {
		s.refusals.lost.Add(lost)
	}
	return err
}

// publish stores the messages, all or none, and returns once they are stored.
// Where JetStream refuses the batch as such, because it holds a message that is
// stored already or the stream takes no batches, the messages go singly.
func (s *sender) publish(ctx context.Context, batch []*nats.Msg) error {
	if len(batch) == 1 {
		ack, err := s.publishOne(ctx, batch[0])
		if err == nil {
			s.acknowledged(ack.Stream, ack.Sequence)
		}
		return err
	}
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		ack, err := jetstreamext.PublishMsgBatch(ctx, s.js, batch)
		switch {
		case err == nil:
			s.acknowledged(ack.Stream, ack.Sequence)
			return nil
		case errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight): // backpressure
			select {
			case <-ctx.Done():
				return err
			case <-time.After(delay):
			}
		case errors.Is(err, jetstreamext.ErrBatchPublishDuplicateMsgID), errors.Is(err, jetstreamext.ErrBatchPublishNotEnabled):
			return s.publishSingly(ctx, batch)
		default:
			return err
		}
	}
}

// publishSingly publishes in order and stops at the first error. JetStream
// answers a message id that it holds with its sequence, so a repeat stores
// nothing; see storeDuplicate. What the server refuses for itself is replaced by the record of its
// loss, where the sender does that. Where it stops, nothing counts as
// acknowledged, so that a look for the batch finds what is stored of it.
func (s *sender) publishSingly(ctx context.Context, batch []*nats.Msg) error {
	var last *jetstream.PubAck
	for _, m := range batch {
		ack, err := s.publishOrSettle(ctx, m)
		if err != nil {
			return err
		}
		last = ack
	}
	s.acknowledged(last.Stream, last.Sequence)
	return nil
}

func (s *sender) publishOrSettle(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	if s.refusals == nil {
		return s.publishOne(ctx, m)
	}
	solo, stop := context.WithTimeout(ctx, soloTimeout)
	ack, err := s.publishOne(solo, m)
	stop()
	if err != nil {
		return s.refusals.settle(ctx, s, m, err)
	}
	return ack, nil
}

func (s *sender) publishOne(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	m.Reply = "" // a batch that was tried before left its own behind
	for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
		m.Header.Del(header)
	}
	ack, err := s.js.PublishMsg(ctx, m)
	if err != nil || !ack.Duplicate {
		return ack, err
	}
	return s.storeDuplicate(ctx, m, ack)
}

func (s *sender) acknowledged(stream string, sequence uint64) {
	s.stream, s.acked, s.located = stream, sequence, true
}

// connected waits until the connection is up. The error is
// [nats.ErrConnectionClosed], which is permanent, or [nats.ErrDisconnected].
func connected(ctx context.Context, nc *nats.Conn) error {
	for {
		switch {
		case nc.IsConnected():
			return nil
		case nc.IsClosed():
			return nats.ErrConnectionClosed
		}
		select {
		case <-ctx.Done():
			return nats.ErrDisconnected
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// messageBytes is what the server holds against its payload limit: header and
// data, with the room that the headers of a batch need.
func messageBytes(m *nats.Msg) int {
	const frame, line, batchHeaders = len("NATS/1.0\r\n\r\n"), len(": \r\n"), 128
	size := frame + batchHeaders + len(m.Data)
	for name, values := range m.Header {
		for _, value := range values {
			size += line + len(name) + len(value)
		}
	}
	return size
}
