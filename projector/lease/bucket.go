package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is the name of the bucket of leases and journals.
const Bucket = "ctxledger_leases"

var ErrNoBucket = errors.New("the bucket " + Bucket + " does not exist: run `ctxledger migrate`")

// OpenBucket opens the bucket of leases and journals.
func OpenBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, ErrNoBucket
	}
	return kv, err
}

func EnsureBucket(ctx context.Context, js jetstream.JetStream) (made bool, err error) {
	_, err = js.KeyValue(ctx, Bucket)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, fmt.Errorf("look up bucket %s: %w", Bucket, err)
	}
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: Bucket, Description: "ctxledger leases and journals", History: 1})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return false, fmt.Errorf("create bucket %s: %w", Bucket, err)
	}
	return err == nil, nil
}
