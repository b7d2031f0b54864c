package embedded

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// A child is told apart by its own name for itself and by a variable that only
// the supervisor sets; either alone can be an accident.
const (
	childName      = "ctxledger-clickhouse"
	childLibrary   = "CTXLEDGER_ENGINE_CHILD_LIBRARY"
	childRemoveDir = "CTXLEDGER_ENGINE_CHILD_REMOVES"
)

var mainCalled atomic.Bool

// Main must be the first statement of main and of every TestMain whose process
// calls Start, itself or through package embeddedtest. In the engine's child it runs the
// engine and never returns; anywhere else it returns at once.
func Main() {
	mainCalled.Store(true)
	library := os.Getenv(childLibrary)
	if library == "" || os.Args[0] != childName {
		return
	}
	// In order to stop is to close the pipe. A signal that an init system or a
	// closing terminal sends to everyone must not get there first.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := runLibrary(library, append([]string{"clickhouse"}, os.Args[1:]...))
	if dir := os.Getenv(childRemoveDir); dir != "" {
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
