package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Selection is a part of the current messages of a stream.
type Selection struct {
	Subject     string    // of the messages, with wildcards; "" is every subject
	Since       time.Time // when the first message was stored; the zero time is the start of the stream
	After       uint64    // sequence before that of the first message; not with Since
	HeadersOnly bool      // the server leaves out the data
}

const (
	// Numbers of messages that Each requests at a time. A whole message may have a megabyte.
	headersAtOnce, wholeAtOnce = 500, 32
	// patience is how long Each waits for the next message.
	patience = 5 * time.Second
	// lagPatience is how long Each waits for a replica that lags.
	lagPatience = 30 * time.Second
)

// Each calls visit for the current messages of a stream that are in the selection. Each visits
// them in the order of the stream and stops at the first error of visit. Messages that are deleted
// meanwhile may be left out. In a cluster a replica may serve the messages that lags behind the leader. Each
// then waits for it. Errors: [ErrUndelivered],
// or one of visit or of the server.
func Each(ctx context.Context, stream jetstream.Stream, s Selection, visit func(jetstream.Msg, *jetstream.MsgMetadata) error) error {
	config := jetstream.ConsumerConfig{
		FilterSubject: s.Subject, HeadersOnly: s.HeadersOnly, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	switch {
	case !s.Since.IsZero():
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &s.Since
	case s.After > 0:
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, s.After+1
	}
	end, err := endOf(ctx, stream, s)
	if err != nil {
		return err
	}
	consumer, err := stream.CreateConsumer(ctx, config)
	if err != nil {
		return err
	}
	defer Forget(ctx, stream, consumer)
	most := uint64(wholeAtOnce)
	if s.HeadersOnly {
		most = headersAtOnce
	}
	f := feed{Consumer: consumer, visit: visit}
	left := consumer.CachedInfo().NumPending
	for {
		for left > 0 {
			before := f.read
			if err := f.fetch(ctx, int(min(left, most))); err != nil {
				return err
			}
			left = min(left-(f.read-before), f.pending)
		}
		if f.last >= end {
			return nil
		}
		if left, err = f.catchUp(ctx, stream, s); err != nil || left == 0 {
			return err
		}
	}
}

// endOf returns the sequence of the last message of a selection that the leader of a replicated stream has. It
// is 0 for other streams and for an empty selection.
func endOf(ctx context.Context, stream jetstream.Stream, s Selection) (uint64, error) {
	if stream.CachedInfo().Config.Replicas < 2 {
		return 0, nil
	}
	if s.After > 0 { // where nothing follows, no message is needed
		info, err := stream.Info(ctx)
		if err != nil || info.State.LastSeq <= s.After {
			return 0, err
		}
	}
	// NATS answers > with the last sequence only, which may be deleted. All subjects have several tokens.
	last, err := stream.GetLastMsgForSubject(ctx, cmp.Or(s.Subject, "*.>")) // of the leader, because the streams allow no direct reads
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case last.Sequence <= s.After || last.Time.Before(s.Since):
		return 0, nil
	}
	return last.Sequence, nil
}

// A feed is a consumer whose messages are read.
type feed struct {
	jetstream.Consumer
	visit   func(jetstream.Msg, *jetstream.MsgMetadata) error
	read    uint64 // messages so far
	last    uint64 // sequence in the stream of the last one
	pending uint64 // that the stream has after the last one
}

// fetch calls visit for the next messages of a feed, at most this many. There are none only if all are
// deleted. In a cluster the other servers learn of a new consumer a moment after its creation. Until then
// nobody answers, and fetch asks again.
func (f *feed) fetch(ctx context.Context, most int) error {
	before := f.read
	for deadline := time.Now().Add(patience); ; {
		batch, err := f.Fetch(most, jetstream.FetchMaxWait(patience))
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			meta, err := msg.Metadata()
			if err != nil {
				return err
			}
			if f.read, f.last, f.pending = f.read+1, meta.Sequence.Stream, meta.NumPending; f.read != meta.Sequence.Consumer {
				return fmt.Errorf("read up to sequence %d: %w", meta.Sequence.Stream, ErrUndelivered)
			}
			if err := f.visit(msg, meta); err != nil {
				return err
			}
		}
		switch {
		case f.read > before:
			return nil
		case batch.Error() == nil:
			return f.settle(ctx)
		case !errors.Is(batch.Error(), nats.ErrNoResponders) || time.Now().After(deadline):
			return batch.Error()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settle ends a feed that got nothing for a while, if all messages that it waits for are deleted.
func (f *feed) settle(ctx context.Context) error {
	info, err := f.Info(ctx)
	switch {
	case err != nil:
		return err
	case info.Delivered.Consumer != f.read:
		return ErrUndelivered
	case info.NumPending > 0:
		return nats.ErrTimeout
	}
	f.pending = 0
	return nil
}

// Forget removes a consumer. After an error the server removes it later.
func Forget(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}

// catchUp waits until the server of a feed has further messages, and returns their number. It returns 0 if the
// leader of the stream has no more messages of the selection.
func (f *feed) catchUp(ctx context.Context, stream jetstream.Stream, s Selection) (uint64, error) {
	for deadline := time.Now().Add(lagPatience); ; {
		end, err := endOf(ctx, stream, s)
		if err != nil || end <= f.last {
			return 0, err
		}
		info, err := f.Info(ctx)
		switch {
		case err != nil:
			return 0, err
		case info.NumPending > 0:
			return info.NumPending, nil
		case time.Now().After(deadline):
			return 0, fmt.Errorf("a replica has nothing after sequence %d, and the leader has messages up to %d: %w", max(s.After, f.last), end, ErrUndelivered)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
