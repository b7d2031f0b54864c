package streamio

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ImportsBucket is the name of the bucket in which imports remember what they have stored. The
// projector does not read it. It may be emptied at any time; imports are then slower, not wrong.
const ImportsBucket = "CTX_IMPORTS"

func importsConfig() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: ImportsBucket, Description: "what ctxledger imports have stored", History: 1}
}

// OpenImports opens the bucket of imports. It returns nil for an installation of an earlier version,
// which has none.
func OpenImports(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, ImportsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	return bucket, err
}

// End is the end of a stream of events.
type End struct {
	Incarnation uuid.UUID
	Last        uint64 // sequence
}

// ReadEnds reads the end of each stream that takes the events of a tenant, in the order of the partitions.
func ReadEnds(ctx context.Context, js jetstream.JetStream, tenant string) ([]End, error) {
	l, err := readLayout(ctx, js)
	if err != nil {
		return nil, err
	}
	if tenant = schema.TenantOf(tenant); l.partitions[tenant] == 0 {
		tenant = ""
	}
	streams, err := l.streamsOf(tenant)
	if err != nil {
		return nil, err
	}
	ends := make([]End, 0, len(streams))
	for _, s := range streams {
		stream, incarnation, err := OpenStream(ctx, js, s.Name)
		if err != nil {
			return nil, err
		}
		ends = append(ends, End{incarnation, stream.CachedInfo().State.LastSeq})
	}
	return ends, nil
}
