package streamio

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// IncarnationKey is the key of the stream metadata that tells this stream from an earlier one
// with the same name.
const IncarnationKey = "ctxledger_incarnation"

// ErrNoStream means that a stream of events does not exist.
var ErrNoStream = errors.New("the stream of events does not exist: run `ctxledger migrate`")

var ErrNoIncarnation = errors.New("the stream of events has no incarnation in its metadata: run `ctxledger migrate`")

// OpenStream returns a stream of events and its incarnation.
func OpenStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, uuid.UUID, error) {
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", name, ErrNoStream)
	}
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	incarnation, err := uuid.Parse(stream.CachedInfo().Config.Metadata[IncarnationKey])
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", name, ErrNoIncarnation)
	}
	return stream, incarnation, nil
}

// ErrStreamForked means that the stream no longer holds the committed messages. The stream was
// restored from an older copy, or changed. Nothing is written. Rebuild, or restore the right
// stream.
var ErrStreamForked = errors.New("stream_forked: the stream lacks messages that the ledger was projected from: restore the right stream, or run `ctxledger rebuild --accept` to use this one")

// ErrEventsExpired means that the stream has dropped unprojected events.
var ErrEventsExpired = errors.New("events expired before they were projected")

func Expired(first, last uint64) error {
	return fmt.Errorf("%w: the stream no longer has sequences %d to %d, and no table has them. Raise the stream's limits, then run `ctxledger rebuild`, which keeps the older rows and continues from %d", ErrEventsExpired, first, last, last+1)
}
