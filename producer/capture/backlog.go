package capture

import (
	"context"
	"fmt"
	"sync"
)

// backlog holds the ended taps that wait for the worker. The tap in work stays at the front.
type backlog struct {
	mu      sync.Mutex // guards the fields below
	most    int64      // bytes
	queue   []*Tap
	waiting int64         // bytes of queue
	changed chan struct{} // closed at each change
	closed  bool
}

// put queues a tap and never waits. put returns false if there is no room, or no worker.
func (b *backlog) put(t *Tap) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.queue) > 0 && b.waiting+t.size() > b.most {
		return false
	}
	b.waiting += t.size()
	b.queue = append(b.queue, t)
	b.wake()
	return true
}

// wake wakes whoever waits for a change. The caller holds mu.
func (b *backlog) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// next waits for the tap at the front. next returns nil when the backlog is closed and empty.
func (b *backlog) next() *Tap {
	for {
		b.mu.Lock()
		changed, closed := b.changed, b.closed
		if len(b.queue) > 0 {
			t := b.queue[0]
			b.mu.Unlock()
			return t
		}
		b.mu.Unlock()
		if closed {
			return nil
		}
		<-changed
	}
}

// done removes the tap at the front, whose bodies nobody needs any more.
func (b *backlog) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting -= b.queue[0].size()
	b.queue[0].sent.release()
	b.queue[0].received.release()
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.wake()
}

// empty waits until nothing waits.
func (b *backlog) empty(ctx context.Context) error {
	for {
		b.mu.Lock()
		changed, waiting := b.changed, len(b.queue)
		b.mu.Unlock()
		if waiting == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the capture: %w", context.Cause(ctx))
		}
	}
}

func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
}
