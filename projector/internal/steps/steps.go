// Package steps runs the steps of a protocol.
//
// A protocol is a list of named steps, each of which may be repeated. A [Walker] runs them.
// [InOrder] runs one after the other. A walker of a test can end a process after a step or
// break the protocol.
package steps

import (
	"context"
	"errors"
)

// A Step is one transition of a protocol.
type Step struct {
	Verb string // the name in errors and metrics
	Do   func(context.Context) error
}

// A Walker runs the steps of a list with take, and returns the first error.
type Walker interface {
	Walk(ctx context.Context, list []Step, take func(context.Context, Step) error) error
}

// InOrder runs each step once.
type InOrder struct{}

// Walk stops at the first error.
func (InOrder) Walk(ctx context.Context, list []Step, take func(context.Context, Step) error) error {
	for _, s := range list {
		if err := take(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Take runs a step.
func Take(ctx context.Context, s Step) error { return s.Do(ctx) }

// An Error names the step that failed.
type Error struct {
	Verb string
	Err  error
}

func (e *Error) Error() string { return e.Verb + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Failed returns the verb of the innermost step that failed.
func Failed(err error) (verb string) {
	for {
		var step *Error
		if !errors.As(err, &step) {
			return verb
		}
		verb, err = step.Verb, step.Err
	}
}
