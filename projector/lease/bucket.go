package lease

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is the name of the bucket of leases and journals.
const Bucket = "ctxledger_leases"

// The keys of the leases that only one process holds. A retention holds both.
const (
	BackupKey  = "backup"  // a backup or a restore
	RebuildKey = "rebuild" // a rebuild or a move of a partition
)

var ErrNoBucket = errors.New("the bucket " + Bucket + " does not exist: run `ctxledger migrate`")

// BucketConfig is the configuration of the bucket.
func BucketConfig() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: Bucket, Description: "ctxledger leases and journals", History: 1}
}

// OpenBucket opens the bucket of leases and journals.
func OpenBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, ErrNoBucket
	}
	return kv, err
}
