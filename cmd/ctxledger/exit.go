package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3 // some input was refused; the rest went in
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

func exitCode(err error) int {
	var with *exitError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return exitDone
	case errors.As(err, &with):
		return with.code
	case errors.Is(err, embedded.ErrConfig):
		return exitUsage
	case errors.Is(err, ledger.ErrUnreachable), errors.Is(err, embedded.ErrNotRunning),
		errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrConnectionClosed):
		return exitUnreachable
	}
	return exitFailed
}
