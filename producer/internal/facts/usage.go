package facts

import (
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Lineage is what calls that share a prompt cache know of the call before them.
type Lineage struct {
	mu     sync.Mutex        // held while a call is recorded, so that order is time
	last   time.Time         // of the last call; zero before the first
	prints map[string]uint64 // its layers
}

// LineageKey names the calls that share a prompt cache: root runs share that of
// their thread, and a nested run, which has a prompt of its own, has its own.
//
// Source: shared/vectors/noetic.json, lineage_key.
func LineageKey(depth int, thread, run string) string {
	if depth == 0 {
		return "t:" + thread
	}
	return "x:" + run
}

// Record fills in what the lineage knows, and goes on from this call if send
// succeeds. What the first call changed is unknown.
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
