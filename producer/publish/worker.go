package publish

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// worker runs a loop in the background while there is work, one at a time, and
// tells those who wait how each try went. The zero value needs loop, changed and
// retry; newWorker sets the latter two.
type worker struct {
	// loop works until nothing is due or a try fails. It is called with mu held,
	// lets go of it during I/O, and says when to run again; 0 is not by itself.
	loop func() (again time.Duration)
	due  func() // called before the loop where a timer starts it; may be nil

	mu       sync.Mutex    // guards what follows and what the owner keeps; never held during I/O
	running  bool          // the loop runs
	timer    *time.Timer   // starts the loop; nil when none is set
	failures uint64        // tries that failed
	err      error         // of the last try, nil once one succeeds
	retry    time.Duration // until the next try after a failure
	changed  chan struct{} // closed after each try
}

const (
	// firstRetry doubles up to lastRetry while tries fail.
	firstRetry, lastRetry = 100 * time.Millisecond, 5 * time.Second
)

func newWorker() worker { return worker{retry: firstRetry, changed: make(chan struct{})} }

// start lets the loop run unless it does. The caller holds mu, as with all below.
func (w *worker) start() {
	if w.running {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.running = true
	go w.run()
}

// startIn starts the loop later.
func (w *worker) startIn(delay time.Duration) {
	w.timer = time.AfterFunc(delay, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer = nil
		if w.due != nil {
			w.due()
		}
		w.start()
	})
}

func (w *worker) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.loop()
	w.running = false
	if again > 0 {
		w.startIn(again)
	}
}

// settle notes how a try went and wakes those who wait.
func (w *worker) settle(err error) {
	close(w.changed)
	w.changed = make(chan struct{})
	if w.err = err; err != nil {
		w.failures++
		return
	}
	w.retry = firstRetry
}

// backOff returns how long to wait after a failure.
func (w *worker) backOff() time.Duration {
	delay := w.retry
	w.retry = min(2*w.retry, lastRetry)
	return delay
}

// await lets go of mu until a try has ended.
func (w *worker) await(ctx context.Context) error {
	changed := w.changed
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the stream: %w", context.Cause(ctx))
	}
}

// until starts the loop and waits until done says so. It returns the error of a
// try that failed meanwhile, and ctx's.
func (w *worker) until(ctx context.Context, done func() bool) error {
	for failures := w.failures; !done(); {
		if w.failures > failures && w.err != nil {
			return w.err
		}
		w.start()
		if err := w.await(ctx); err != nil {
			return err
		}
	}
	return nil
}
