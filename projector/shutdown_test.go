package projector

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

// A projector that is stopped under load ends without an error and has released its lease. No
// event is lost or repeated.
func TestEndedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kv, err := f.js.KeyValue(t.Context(), lease.Bucket)
	f.must(err)
	for round := range 6 {
		f.publishMix(round*1000, 150)
		p := f.projector()
		p.config.Owner = "" // no projector may take another's lease without a wait
		p, err := New(p.config)
		f.must(err)
		p.config.Timing = quickTiming
		p.config.UntilCaughtUp = false
		ctx, cancel := context.WithCancel(t.Context())
		points := []string{pointBuilt, pointJournalled, pointQuarantined, pointWritten, pointCommitted, pointDeleted}
		point, visit := points[round], 1+rand.N(3)
		p.config.Steps = atEach(func(at string) {
			if at == point {
				if visit--; visit == 0 {
					cancel()
				}
			}
		})
		began := time.Now()
		f.must(p.Run(ctx))
		t.Logf("ended at %s with %d committed, after %s", point, p.Status().Committed, time.Since(began).Round(time.Millisecond))
		if owner := leaseOwner(t, kv); owner != "" {
			t.Errorf("ended at %s, the lease is still %q's", point, owner)
		}
	}
	f.project()
	f.exact("")
	f.exact("FINAL")
}

func leaseOwner(t *testing.T, kv jetstream.KeyValue) string {
	t.Helper()
	_, entry, err := lease.ReadEntry(t.Context(), kv, lease.KeyOf(schema.EventStream))
	if err != nil {
		t.Fatal(err)
	}
	return entry.Owner
}
