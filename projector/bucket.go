package projector

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// LeaseBucket is the name of the bucket of leases and journals.
const LeaseBucket = "ctxledger_leases"

var errNoBucket = errors.New("the bucket " + LeaseBucket + " does not exist: run `ctxledger migrate`")

// openBucket opens the bucket of leases and journals.
func openBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, LeaseBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, errNoBucket
	}
	return kv, err
}

func ensureBucket(ctx context.Context, js jetstream.JetStream) (made bool, err error) {
	_, err = js.KeyValue(ctx, LeaseBucket)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, fmt.Errorf("look up bucket %s: %w", LeaseBucket, err)
	}
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: LeaseBucket, Description: "ctxledger leases and journals", History: 1})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return false, fmt.Errorf("create bucket %s: %w", LeaseBucket, err)
	}
	return err == nil, nil
}
