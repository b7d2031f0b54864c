package streamio

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Selection is a part of the current messages of a stream.
type Selection struct {
	Subject     string    // of the messages, with wildcards; "" is every subject
	Since       time.Time // when the first message was stored; the zero time is the start of the stream
	HeadersOnly bool      // the server leaves out the data
}

const (
	// headersAtOnce is the number of messages without data that Each requests at a time. It requests
	// whole messages one by one, because each may be large.
	headersAtOnce = 500
	// patience is how long Each waits for the next message.
	patience = 5 * time.Second
)

// Each calls visit for the current messages of a stream that are in the selection. Each visits
// them in the order of the stream and stops at the first error of visit.
func Each(ctx context.Context, stream jetstream.Stream, s Selection, visit func(jetstream.Msg, *jetstream.MsgMetadata) error) error {
	config := jetstream.ConsumerConfig{
		FilterSubject: s.Subject, HeadersOnly: s.HeadersOnly, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	if !s.Since.IsZero() {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &s.Since
	}
	consumer, err := stream.CreateConsumer(ctx, config)
	if err != nil {
		return err
	}
	defer Forget(ctx, stream, consumer)
	most := uint64(1)
	if s.HeadersOnly {
		most = headersAtOnce
	}
	for left := consumer.CachedInfo().NumPending; left > 0; {
		read, err := fetch(ctx, consumer, int(min(left, most)), visit)
		if err != nil {
			return err
		}
		left -= read
	}
	return nil
}

// fetch calls visit for the next messages of a consumer, at least one and at most this many. In a
// cluster the other servers learn of a new consumer a moment after its creation. Until then
// nobody answers, and fetch asks again.
func fetch(ctx context.Context, consumer jetstream.Consumer, most int, visit func(jetstream.Msg, *jetstream.MsgMetadata) error) (read uint64, err error) {
	for deadline := time.Now().Add(patience); ; {
		batch, err := consumer.Fetch(most, jetstream.FetchMaxWait(patience))
		if err != nil {
			return 0, err
		}
		for msg := range batch.Messages() {
			meta, err := msg.Metadata()
			if err != nil {
				return read, err
			}
			if err := visit(msg, meta); err != nil {
				return read, err
			}
			read++
		}
		switch {
		case read > 0:
			return read, nil
		case batch.Error() == nil:
			return 0, nats.ErrTimeout
		case !errors.Is(batch.Error(), nats.ErrNoResponders) || time.Now().After(deadline):
			return 0, batch.Error()
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Forget removes a consumer. After an error the server removes it later.
func Forget(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}
