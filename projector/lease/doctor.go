package lease

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// probeKey is the key that Probe writes. No stream of events has its name.
const probeKey = "doctor.probe"

// Probe writes a key into the bucket and removes it. A full store refuses this, as it refuses the
// leases and the journals.
func Probe(ctx context.Context, js jetstream.JetStream) error {
	kv, err := OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	if _, err := kv.Put(ctx, probeKey, make([]byte, room)); err != nil {
		return err
	}
	return kv.Purge(ctx, probeKey)
}
