package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// JournalledIncarnation returns the incarnation of the last journalled range of a stream, or ""
// without a journal.
func JournalledIncarnation(ctx context.Context, js jetstream.JetStream, name string) (string, error) {
	kv, err := OpenBucket(ctx, js)
	if errors.Is(err, ErrNoBucket) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up bucket %s: %w", Bucket, err)
	}
	for _, key := range []string{KeyOf(name), name} {
		_, entry, err := ReadEntry(ctx, kv, key)
		switch {
		case errors.Is(err, ErrEntry): // the fence
		case err != nil:
			return "", err
		case entry.Pending != nil:
			return entry.Pending.Incarnation.String(), nil
		}
	}
	return "", nil
}
