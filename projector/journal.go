package projector

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// journalledIncarnation is the incarnation of the last range of a stream that a
// projector has begun to write, "" where there is none.
func journalledIncarnation(ctx context.Context, js jetstream.JetStream, name string) (string, error) {
	kv, err := openBucket(ctx, js)
	if errors.Is(err, errNoBucket) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up bucket %s: %w", LeaseBucket, err)
	}
	for _, key := range []string{leaseKeyOf(name), name} {
		_, entry, err := readEntry(ctx, kv, key)
		switch {
		case errors.Is(err, errLeaseEntry): // the fence
		case err != nil:
			return "", err
		case entry.Pending != nil:
			return entry.Pending.Incarnation.String(), nil
		}
	}
	return "", nil
}
