package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/schema"
)

// checkRetention looks for streams that are far beyond the policy of the retention. An installation
// without a policy has no finding.
func checkRetention(ctx context.Context, js jetstream.JetStream, t shardmap.Tables) []finding {
	policy, states, err := limitedStreams(ctx, js, t)
	if publish.PublishOnly(err) || errors.Is(err, lease.ErrNoBucket) || err == nil && policy.IsZero() {
		return nil
	}
	f := finding{what: "retention", state: "the streams are within its limits", err: err}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		tenant, _, _ := schema.ParseStreamName(name)
		if s := states[name]; f.err == nil && s.Overdue(policy.Of(tenant), time.Now()) {
			f.err = fmt.Errorf("stream %s is beyond the limits of the retention: %s", name, remedyOf(s))
		}
	}
	return []finding{f}
}

// limitedStreams reads the policy, and the state of each stream if there is one.
func limitedStreams(ctx context.Context, js jetstream.JetStream, t shardmap.Tables) (p retention.Policy, states map[string]retention.State, err error) {
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return p, nil, err
	}
	if p, err = retention.ReadPolicy(ctx, kv); err != nil || p.IsZero() {
		return p, nil, err
	}
	states, err = retention.ReadStates(ctx, js, t, kv)
	return p, states, err
}

// remedyOf says what keeps the messages of a stream that is beyond the limits, and what to do.
func remedyOf(s retention.State) string {
	switch {
	case s.Through >= s.First:
		return "messages that may leave are still there; \"ctxledger retention run\" removes them or says why it cannot; see CtxledgerRetentionFails in the runbook"
	case s.Kept == retention.ByBackup:
		return "no full backup has its oldest messages: run \"ctxledger backup create\""
	}
	return "no signed tree head has its oldest messages; see CtxledgerHeadsNotTaken in the runbook"
}
