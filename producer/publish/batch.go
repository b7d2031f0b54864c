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

// maxBatch is the largest number of messages in one atomic batch of JetStream.
const maxBatch = 1000

// maxBatchBytes keeps a batch within the buffer of the NATS client (8 MiB) if the
// connection breaks during the batch.
const maxBatchBytes = 4 << 20

const (
	// An attempt to store a batch waits connectTimeout for the connection and
	// attemptTimeout for the batch. If the batch is looked up first, each answer has
	// lookTimeout.
	connectTimeout, attemptTimeout, lookTimeout = 5 * time.Second, 10 * time.Second, 5 * time.Second
)

// sender stores batches in the stream, in order, one after the other. A sender is for one
// goroutine at a time.
type sender struct {
	js       jetstream.JetStream
	subject  string // of which the stream takes messages; "" is all subjects
	stream   string // the stream's name, "" until it is known
	acked    uint64 // last acknowledged stream sequence
	located  bool   // acked is known: all batches of this sender are stored after it
	refusals *refusals
	taken    *takenIDs // nil counts nothing
	retries  bool      // an earlier attempt sent the batch
	blind    bool      // the account has no right to read the stream
}

// try makes one attempt to store a batch and returns when the stream has stored the batch.
// Again means that an earlier attempt may have stored the batch or a part of it. Then the
// batch is first looked up in the stream, so nothing is stored twice after any time.
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
			return fmt.Errorf("look up the batch in the stream: %w", err)
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

// store publishes a batch and replaces the messages that the server refuses.
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

// publish stores the messages, all or none, and returns when they are stored. JetStream
// refuses a batch with a message that is already stored, and some streams accept no
// batches. In both cases the messages are published one by one.
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

// publishSingly publishes in order and stops at the first error. JetStream answers a known
// message id with its sequence, so a repeated message is not stored again; see
// storeDuplicate. If the sender replaces refused messages, the record of the loss takes the
// place of a message that the server refuses permanently. After an error nothing counts as
// acknowledged, so a later lookup finds the stored messages.
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
	m.Reply = "" // an earlier attempt may have set it
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

// messageBytes returns the size that the server compares with its payload limit: header and
// data, with room for the headers of a batch.
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
