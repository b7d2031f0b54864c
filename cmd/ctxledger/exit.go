package main

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
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3 // some input was refused; the rest went in
	exitNotVerified = 4 // a verification said no
	exitUnreachable = 5
)

// exitError gives an error an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError says that the command line was wrong.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// errRefused ends a command that has reported what it refused.
var errRefused = &exitError{exitRefused, errors.New("some input was refused")}

// interrupted replaces what a cancelled ctx made of err by advice. Commands
// that run until they are interrupted return nil instead.
func interrupted(ctx context.Context, err error, advice string) error {
	if err == nil || ctx.Err() == nil || isExit(err) {
		return err
	}
	return &exitError{exitFailed, errors.New("interrupted: " + advice)}
}

func isExit(err error) bool {
	var with *exitError
	return errors.As(err, &with)
}

func exitCode(err error) int {
	var with *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &with):
		return with.code
	case errors.Is(err, embedded.ErrConfig):
		return exitUsage
	case unreachable(err):
		return exitUnreachable
	}
	return exitFailed
}

// unreachable reports whether err says that a server did not answer. A request
// to JetStream that nobody answers ends with its deadline.
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
