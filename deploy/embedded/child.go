package embedded

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
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
// calls Start or one of the test starters. In the engine's child it runs the
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

// engineResult is the head of what query_stable_v2 returns.
type engineResult struct {
	buf          *byte
	length       uintptr
	_            uintptr
	elapsed      float64
	rows, bytes  uint64
	errorMessage *byte
}

// runLibrary runs the engine's own main on this thread and returns when the
// statements in args have ended.
func runLibrary(library string, args []string) error {
	runtime.LockOSThread()
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("open the ClickHouse library: %w", err)
	}
	var query func(argc int32, argv unsafe.Pointer) *engineResult
	symbol, err := purego.Dlsym(handle, "query_stable_v2")
	if err != nil {
		return fmt.Errorf("find the entry point of the ClickHouse library: %w", err)
	}
	purego.RegisterFunc(&query, symbol)

	var pinned runtime.Pinner
	defer pinned.Unpin()
	argv := make([]*byte, len(args)+1) // ends with a null pointer, as C wants
	for i, arg := range args {
		argv[i] = unsafe.SliceData(append([]byte(arg), 0))
		pinned.Pin(argv[i])
	}
	pinned.Pin(&argv[0])
	result := query(int32(len(args)), unsafe.Pointer(&argv[0]))
	if result != nil && result.errorMessage != nil {
		return fmt.Errorf("%s", cString(result.errorMessage))
	}
	return nil
}

func cString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
