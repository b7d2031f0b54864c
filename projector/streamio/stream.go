package streamio

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// IncarnationKey is the stream metadata that tells this stream from one that
// had the same name before.
const IncarnationKey = "ctxledger_incarnation"

// ErrNoStream means that a stream of events does not exist: run migrate.
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

// ErrStreamForked means that the stream no longer holds what was committed
// from it: it was restored from an older copy, or changed. Nothing is written;
// rebuild, or restore the right stream.
var ErrStreamForked = errors.New("stream_forked: the stream does not hold what the ledger was projected from: restore the right stream, or take this one for the truth with `ctxledger rebuild --accept`")

// ErrEventsExpired means that the stream has dropped events that were never
// projected.
var ErrEventsExpired = errors.New("events expired before they were projected")

func Expired(first, last uint64) error {
	return fmt.Errorf("%w: sequences %d to %d are gone from the stream for good, so they are in no table; let the stream keep events for longer, then run `ctxledger rebuild`, which keeps the older rows and goes on from %d", ErrEventsExpired, first, last, last+1)
}
