package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
)

// Work is a function of the runtime that writes a summary or shortens tool outputs. See
// [window.Work] for its results. Its context ends with the caller's context and after
// [WorkTime]. Work runs in its own goroutine. Results that arrive after the wait are
// discarded. A function that ignores its context continues in the background and blocks
// nothing.
type Work func(context.Context, window.Request) ([]window.Replacement, error)

// WorkTime is the longest wait for a function of the runtime, with any caller's context. A
// context that ends earlier shortens the wait.
const WorkTime = 5 * time.Minute

// ErrWork is wrapped by every [*WorkError].
var ErrWork = errors.New("the runtime's function gave nothing usable")

// WorkError means that a function of the runtime panicked, did not answer in time, or
// returned an error or nothing. Its text holds no text of the function, which could quote
// content.
type WorkError struct {
	// Cause is window.ErrWorkPanicked, window.ErrWorkTimeout, the error of the caller's
	// context, or the function's own error.
	Cause error
	own   bool // Cause is the function's own error
}

// Error names the cause, unless the cause is the function's own error.
func (e *WorkError) Error() string {
	if e.own || e.Cause == nil {
		return ErrWork.Error()
	}
	return fmt.Sprintf("%v: %v", ErrWork, e.Cause)
}

// Unwrap returns [ErrWork] and the cause.
func (e *WorkError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrWork}
	}
	return []error{ErrWork, e.Cause}
}

// work runs a function of the runtime and keeps its panics and hangs away from the caller.
// The error is a [*WorkError].
func work[A any](ctx context.Context, do func(context.Context) (A, error)) (A, error) {
	type answer struct {
		value A
		err   error
	}
	var none A
	limited, cancel := context.WithTimeout(ctx, WorkTime)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		a := answer{err: &WorkError{Cause: window.ErrWorkPanicked}}
		defer func() {
			_ = recover()
			done <- a
		}()
		value, err := do(limited)
		if a = (answer{value: value}); err != nil {
			a = answer{err: &WorkError{Cause: err, own: true}}
		}
	}()
	select {
	case a := <-done:
		if ctx.Err() != nil {
			return none, &WorkError{Cause: ctx.Err()}
		}
		return a.value, a.err
	case <-limited.Done():
	}
	if ctx.Err() != nil {
		return none, &WorkError{Cause: ctx.Err()}
	}
	return none, &WorkError{Cause: window.ErrWorkTimeout}
}

// planned returns a work for the planner. When the caller's context has ended, its error is
// stored in ended, and the plan is not used.
func (w Work) planned(ctx context.Context, ended *error) window.Work {
	if w == nil {
		return nil
	}
	return func(r window.Request) ([]window.Replacement, error) {
		if *ended != nil {
			return nil, *ended
		}
		list, err := work(ctx, func(ctx context.Context) ([]window.Replacement, error) { return w(ctx, r) })
		if ctx.Err() != nil {
			*ended = err
		}
		return list, err
	}
}
