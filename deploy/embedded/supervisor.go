package embedded

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pause before a restart doubles from firstBackoff to lastBackoff. After an engine has lived for
// healthyAfter, the pause is firstBackoff again.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 5 * time.Second
	healthyAfter = 10 * time.Second
)

// supervise restarts the child whenever it ends, until stop.
func (e *engine) supervise(child *engineChild) {
	backoff := firstBackoff
	for {
		select {
		case <-e.stopping:
			e.done <- child.stop(e.config.StopTimeout)
			return
		case <-child.exited:
		}
		child.release()
		e.log.Warn("ClickHouse ended and is restarted", "status", child.cmd.ProcessState.String(), "words", child.lastWords())
		if time.Since(child.started) > healthyAfter {
			backoff = firstBackoff
		}
		next, err := e.relaunch(&backoff)
		if err != nil {
			e.done <- nil // stop was called; launch has ended its child
			return
		}
		child = next
		e.child.Store(child)
		e.restarts.Add(1)
		e.log.Info("ClickHouse is ready again")
	}
}

// relaunch tries until a child is ready. Its only error means that stop was called.
func (e *engine) relaunch(backoff *time.Duration) (*engineChild, error) {
	for {
		pause := *backoff/2 + rand.N(*backoff)
		*backoff = min(2**backoff, lastBackoff)
		select {
		case <-e.stopping:
			return nil, context.Canceled
		case <-time.After(pause):
		}
		err := e.waitForOrphan(context.Background())
		if err == nil {
			var child *engineChild
			if child, err = e.launch(context.Background()); err == nil {
				return child, nil
			}
		}
		e.log.Error("ClickHouse could not be restarted", "error", err)
	}
}
