package producer

import (
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// SumUsage adds up what several calls were billed, bucket by bucket. A bucket
// that no call reported stays unknown, and a reported zero counts as one.
//
// Source: shared/vectors/noetic.json, track_usage.
func SumUsage(calls ...schema.ProviderUsage) (total schema.ProviderUsage) {
	buckets := func(u *schema.ProviderUsage) [7]**int64 {
		return [...]**int64{&u.UncachedInput, &u.CacheRead, &u.CacheWrite5m, &u.CacheWrite1h, &u.CacheWrite, &u.Output, &u.Reasoning}
	}
	sums := buckets(&total)
	for i := range calls {
		for j, bucket := range buckets(&calls[i]) {
			switch {
			case *bucket == nil:
			case *sums[j] == nil:
				*sums[j] = new(**bucket)
			default:
				**sums[j] += **bucket
			}
		}
	}
	return total
}

// lineage is what calls that share a prompt cache know of the call before them.
type lineage struct {
	mu     sync.Mutex        // held while a call is recorded, so that order is time
	last   time.Time         // of the last call; zero before the first
	prints map[string]uint64 // its layers
}

// lineageKey names the calls that share a prompt cache: root runs share that of
// their thread, and a nested run, which has a prompt of its own, has its own.
//
// Source: shared/vectors/noetic.json, lineage_key.
func lineageKey(depth int, thread, run string) string {
	if depth == 0 {
		return "t:" + thread
	}
	return "x:" + run
}

// record fills in what the lineage knows, and goes on from this call if send
// succeeds. What the first call changed is unknown.
func (l *lineage) record(f *schema.UsageRecorded, items []window.Item, now time.Time, send func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	prints := printsOf(items)
	if gap := now.Sub(l.last).Seconds(); !l.last.IsZero() {
		for i, layer := range f.Layers {
			before, was := l.prints[layer.Layer]
			f.Layers[i].Changed = new(!was || before != prints[layer.Layer])
		}
		if gap >= 0 {
			f.GapSeconds = &gap
		}
	}
	if err := send(); err != nil {
		return err
	}
	l.last, l.prints = now, prints
	return nil
}

// usage is the record of a call: what was really sent, by layer and by use,
// beside what the item log holds.
func (r *RunContext) usage(call, model string, plan window.Plan) *schema.UsageRecorded {
	f := usageFact(call, model, plan)
	f.Estimator = r.client.config.Counter.Count(model, "").Estimator
	f.LineageID = lineageKey(r.depth(), r.ids.ThreadID, r.ids.RunID)
	held := r.log.stretch(plan.Window)
	f.WindowFirst, f.WindowNext = held.first, &held.next
	f.Metadata = map[string]any{"log_tokens": held.tokens}
	if held.first != nil {
		f.Metadata["entries_not_in_window"] = held.next - *held.first - held.sent
	}
	return f
}
