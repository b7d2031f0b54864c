package streamio

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Each calls visit for the current messages of a stream that have the subject and were stored
// at or after since. Each visits them in the order of the stream and stops at the first error of
// visit.
func Each(ctx context.Context, stream jetstream.Stream, subject string, since time.Time, visit func(jetstream.Msg, *jetstream.MsgMetadata) error) error {
	config := jetstream.ConsumerConfig{
		FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	if !since.IsZero() {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
	}
	consumer, err := stream.CreateConsumer(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name) // after an error the server removes it later
	}()
	for left := consumer.CachedInfo().NumPending; left > 0; left-- {
		msg, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if err := visit(msg, meta); err != nil {
			return err
		}
	}
	return nil
}
