package producer

import (
	"context"
	"errors"
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

// publishBatch stores the messages, all or none, and returns once they are
// stored. Sent again after an error, it stores nothing twice within the
// stream's window for duplicates. Where JetStream refuses the batch as such,
// because it holds a message that is stored already or the stream takes no
// batches, the messages go singly.
func publishBatch(ctx context.Context, js jetstream.JetStream, batch []*nats.Msg) error {
	if len(batch) == 1 {
		return publishSingly(ctx, js, batch)
	}
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		_, err := jetstreamext.PublishMsgBatch(ctx, js, batch)
		switch {
		case errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight): // backpressure
			select {
			case <-ctx.Done():
				return err
			case <-time.After(delay):
			}
		case errors.Is(err, jetstreamext.ErrBatchPublishDuplicateMsgID), errors.Is(err, jetstreamext.ErrBatchPublishNotEnabled):
			return publishSingly(ctx, js, batch)
		default:
			return err
		}
	}
}

// publishSingly publishes in order and stops at the first error. JetStream
// answers a message id that it holds with its sequence, so a repeat stores
// nothing.
func publishSingly(ctx context.Context, js jetstream.JetStream, batch []*nats.Msg) error {
	for _, m := range batch {
		m.Reply = "" // a batch that was tried before left its own behind
		for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
			m.Header.Del(header)
		}
		if _, err := js.PublishMsg(ctx, m); err != nil {
			return err
		}
	}
	return nil
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
