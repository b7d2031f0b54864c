package facts

import (
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Lineage is the state that calls with the same prompt cache keep of the previous call.
type Lineage struct {
	mu     sync.Mutex        // held while a call is recorded, to record calls in order of time
	last   time.Time         // time of the last call; zero before the first
	prints map[string]uint64 // prints of its layers
}

// LineageKey returns the key of the calls that share a prompt cache. Root runs share the
// cache of their thread. A nested run has its own prompt and its own cache.
//
// Source: shared/vectors/noetic.json, lineage_key.
func LineageKey(depth int, thread, run string) string {
	if depth == 0 {
		return "t:" + thread
	}
	return "x:" + run
}

// Record fills in the changes since the last call, and keeps this call if send succeeds.
// The changes of the first call are unknown.
func (l *Lineage) Record(f *schema.UsageRecorded, items []window.Item, now time.Time, send func() error) error {
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
