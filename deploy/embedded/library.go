//go:build !static

package embedded

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// engineResult is the first part of the result of query_stable_v2.
type engineResult struct {
	buf          *byte
	length       uintptr
	_            uintptr
	elapsed      float64
	rows, bytes  uint64
	errorMessage *byte
}

// runLibrary runs the engine's main function on this thread. runLibrary returns when the
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
	argv := make([]*byte, len(args)+1) // C requires a null pointer at the end
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
