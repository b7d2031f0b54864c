package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
)

// Work is what only the runtime can do for a call: write a summary, shorten tool
// outputs; see [window.Work] for what it returns. Its context ends with that of
// the caller and after [WorkTime]. It runs in a goroutine of its own, and what it
// returns when nobody waits any more is thrown away: a function that ignores its
// context goes on in the background, but holds nothing up.
type Work func(context.Context, window.Request) ([]window.Replacement, error)

// WorkTime is the longest that a function of the runtime is waited for, whatever
// the caller's context. Give a context that ends earlier to wait less.
const WorkTime = 5 * time.Minute

// ErrWork is what every [*WorkError] wraps.
var ErrWork = errors.New("the runtime's function gave nothing usable")

// WorkError says that a function of the runtime panicked, did not answer in
// time, or returned an error or nothing. Its text holds nothing of what the
// function said, which could quote content.
type WorkError struct {
	// Cause is window.ErrWorkPanicked, window.ErrWorkTimeout, the error of the
	// caller's context, or the function's own.
	Cause error
	own   bool // Cause is the function's
}

// Error names the cause where it is not the function's own.
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

// work runs a function of the runtime so that neither a panic nor a hang in it
// reaches the caller. The error is a [*WorkError].
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

// planned makes a work for the planner. Once the caller's context has ended, ended
// gets its error: the plan is then nobody's.
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
