package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
)

const (
	// prefetch is the number of messages that are requested at a time. A message may have a megabyte.
	prefetch = 200
	// quiet is the wait for a message before the server is asked whether there are more.
	quiet = time.Second
	// stalls is the number of such questions in sequence before the read fails.
	stalls = 10
)

// readLater calls visit for each message of a stream after s.After, up to s.Last.
func readLater(ctx context.Context, js jetstream.JetStream, s Stream, visit func(record) error) error {
	if s.Last == s.After {
		return nil
	}
	stream, err := js.Stream(ctx, s.Name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", s.Name, err)
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.After + 1, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	defer streamio.Forget(ctx, stream, consumer)
	if consumer.CachedInfo().NumPending == 0 { // all later messages were deleted
		return nil
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	defer messages.Stop()
	var received uint64
	for waits, last := 0, s.After; last < s.Last; {
		msg, err := next(ctx, messages)
		switch {
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoHeartbeat):
			end, err := delivered(ctx, consumer, received)
			if waits++; err == nil && !end && waits >= stalls {
				err = fmt.Errorf("read the stream after %d: %w", last, streamio.ErrUndelivered)
			}
			if err != nil || end {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("read the stream after %d: %w", last, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("read the stream after %d: %w", last, err)
		}
		if received++; meta.Sequence.Consumer != received || meta.Sequence.Stream <= last {
			return fmt.Errorf("read the stream after %d: %w", last, streamio.ErrUndelivered)
		}
		last, waits = meta.Sequence.Stream, 0
		if last > s.Last {
			return nil
		}
		r := record{sequence: last, at: meta.Timestamp, subject: msg.Subject(), header: headerText(msg.Headers()), data: msg.Data()}
		if err := visit(r); err != nil {
			return err
		}
		if meta.NumPending == 0 { // later ones were deleted
			return nil
		}
	}
	return nil
}

// next returns the next message, or [nats.ErrTimeout] after a while without one.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	waiting, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	msg, err := messages.Next(jetstream.NextContext(waiting))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = nats.ErrTimeout
	}
	return msg, err
}

// delivered reports whether the received messages are all that the stream has for a consumer.
func delivered(ctx context.Context, consumer jetstream.Consumer, received uint64) (bool, error) {
	info, err := consumer.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("read the consumer's state: %w", err)
	}
	return info.NumPending == 0 && info.Delivered.Consumer == received, nil
}

// headerText returns headers in the format of the protocol of NATS. They are in the order of their names,
// and are read as the same headers again.
func headerText(headers nats.Header) []byte {
	if len(headers) == 0 {
		return nil
	}
	text := []byte("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			text = fmt.Appendf(text, "%s: %s\r\n", name, value)
		}
	}
	return append(text, "\r\n"...)
}
