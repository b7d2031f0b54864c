package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

// The exit codes, which scripts rely on.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitRefused     = 3 // some input was refused; the rest went in
	ExitNotVerified = 4 // a verification failed
	ExitUnreachable = 5
)

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// WithCode gives an error an exit code.
func WithCode(code int, err error) error { return &exitError{code, err} }

// UsageError is an error of the command line.
func UsageError(format string, args ...any) error {
	return WithCode(ExitUsage, fmt.Errorf(format, args...))
}

// ErrRefused ends a command that has listed the refused input.
var ErrRefused = WithCode(ExitRefused, errors.New("some input was refused"))

// ErrChild is the end of a command that ctxledger has started for the user. It has the exit code
// of the command. Nothing is printed for it, because the command has printed its own error.
var ErrChild = errors.New("the command that was started ended with an error")

// Interrupted replaces err by advice if ctx was cancelled. Commands that run until an
// interruption return nil instead.
func Interrupted(ctx context.Context, err error, advice string) error {
	if err == nil || ctx.Err() == nil || isExit(err) {
		return err
	}
	return WithCode(ExitFailed, errors.New("interrupted: "+advice))
}

func isExit(err error) bool {
	var with *exitError
	return errors.As(err, &with)
}

func ExitCode(err error) int {
	var with *exitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &with):
		return with.code
	case errors.Is(err, embedded.ErrConfig):
		return ExitUsage
	case unreachable(err):
		return ExitUnreachable
	}
	return ExitFailed
}

// unreachable reports whether err means a server that did not answer. A JetStream request
// without an answer ends with its deadline.
func unreachable(err error) bool {
	for _, kind := range []error{
		ledger.ErrUnreachable, embedded.ErrNotRunning, context.DeadlineExceeded, jetstream.ErrJetStreamNotEnabled,
		nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrNoResponders, nats.ErrDisconnected,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
