package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/schema"
)

// block is one batch of messages in one buffer.
type block struct {
	bytes    []byte
	ends     []int
	messages [][]byte
}

// views cuts the complete buffer into messages.
func (b *block) views() [][]byte {
	b.messages = b.messages[:0]
	at := 0
	for _, end := range b.ends {
		b.messages = append(b.messages, b.bytes[at:end:end])
		at = end
	}
	return b.messages
}

// rawCopy reads the first n messages of the stream and inserts each as one string. rawCopy
// returns the number of inserts.
func rawCopy(ctx context.Context, js jetstream.JetStream, conn driver.Conn, limits projector.Config, n int) (inserts int, err error) {
	full, free := make(chan *block), make(chan *block, 2)
	for range cap(free) {
		free <- new(block)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		defer close(full)
		return readRaw(ctx, js, limits, n, full, free)
	})
	work.Go(func() error {
		for b := range full {
			if err := insertRaw(ctx, conn, b); err != nil {
				return err
			}
			inserts++
			free <- b
		}
		return nil
	})
	return inserts, work.Wait()
}

// readRaw fills blocks from the stream. Its consumer has the same kind as the projector's
// consumer.
func readRaw(ctx context.Context, js jetstream.JetStream, limits projector.Config, n int, full chan<- *block, free <-chan *block) error {
	stream, err := js.Stream(ctx, schema.EventStream)
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 1,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: 5 * time.Minute,
	})
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(5000))
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	defer messages.Stop()
	for read := 0; read < n; {
		var b *block
		select {
		case b = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		b.bytes, b.ends = b.bytes[:0], b.ends[:0]
		for len(b.ends) < limits.BatchMessages && len(b.bytes) < limits.BatchBytes && read < n {
			msg, err := messages.Next(jetstream.NextContext(ctx))
			if err != nil {
				return fmt.Errorf("read stream: %w", err)
			}
			meta, err := msg.Metadata()
			if err != nil {
				return fmt.Errorf("read stream: %w", err)
			}
			if read++; meta.Sequence.Stream != uint64(read) {
				return errors.New("read stream: a message is missing")
			}
			b.bytes = appendRaw(b.bytes, msg)
			b.ends = append(b.ends, len(b.bytes))
		}
		select {
		case full <- b:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// appendRaw appends the unchanged headers and data.
func appendRaw(b []byte, msg jetstream.Msg) []byte {
	for name, values := range msg.Headers() {
		for _, value := range values {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(append(b, "\r\n"...), msg.Data()...)
}

func insertRaw(ctx context.Context, conn driver.Conn, b *block) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	batch, err := conn.PrepareBatch(ctx, statement("insert_raw"))
	if err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := batch.Column(0).Append(b.views()); err != nil {
		_ = batch.Abort()
		return fmt.Errorf("insert: %w", err)
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return nil
}
