package publish

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// worker runs at most one loop in the background while there is work. After each attempt,
// it wakes the waiting goroutines. The zero value needs loop, changed and retry; newWorker
// sets the latter two.
type worker struct {
	// loop works until there is no more work or an attempt fails. loop is called with mu
	// held and releases mu during I/O. The result is the time until the next run; 0 means
	// no automatic run.
	loop func() (again time.Duration)
	due  func() // called before the loop if a timer starts it; may be nil

	mu       sync.Mutex    // guards the fields below and the owner's fields; never held during I/O
	running  bool          // whether the loop runs
	timer    *time.Timer   // starts the loop; nil when no timer is set
	failures uint64        // number of failed attempts
	err      error         // error of the last attempt, nil after a success
	retry    time.Duration // time until the next attempt after a failure
	changed  chan struct{} // closed after each attempt
}

const (
	// firstRetry doubles up to lastRetry while attempts fail.
	firstRetry, lastRetry = 100 * time.Millisecond, 5 * time.Second
)

func newWorker() worker { return worker{retry: firstRetry, changed: make(chan struct{})} }

// start starts the loop if it does not run. The caller holds mu, as for all methods below.
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

// startIn starts the loop after a delay.
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

// settle records the result of an attempt and wakes the waiting goroutines.
func (w *worker) settle(err error) {
	close(w.changed)
	w.changed = make(chan struct{})
	if w.err = err; err != nil {
		w.failures++
		return
	}
	w.retry = firstRetry
}

// backOff returns the time to wait after a failure.
func (w *worker) backOff() time.Duration {
	delay := w.retry
	w.retry = min(2*w.retry, lastRetry)
	return delay
}

// await releases mu until an attempt has ended.
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

// until starts the loop and waits until done returns true. until returns the error of an
// attempt that failed during the wait, or ctx's error.
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
