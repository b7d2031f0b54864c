package embedded

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// A child process is recognised by its argv[0] and by a variable that only the supervisor sets.
// Only one of them can be an accident.
const (
	childName      = "ctxledger-clickhouse"
	childLibrary   = "CTXLEDGER_ENGINE_CHILD_LIBRARY"
	childRemoveDir = "CTXLEDGER_ENGINE_CHILD_REMOVES"
)

var mainCalled atomic.Bool

// Main must be the first statement of main and of every TestMain whose process calls Start,
// directly or through package embeddedtest. In the engine's child process Main runs the engine
// and never returns. In any other process Main returns immediately.
func Main() {
	mainCalled.Store(true)
	library := os.Getenv(childLibrary)
	if library == "" || os.Args[0] != childName {
		return
	}
	// The engine stops in order when the pipe is closed. A signal from an init system or a
	// closing terminal must not stop the engine before.
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
