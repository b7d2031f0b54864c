package capture

import (
	"runtime"
	"syscall"
)

// lower gives the calling goroutine a thread of its own that the system runs after threads which
// have bytes to pass. The thread ends with the goroutine. A system that refuses leaves it as it is.
func lower() {
	const less = 5 // a third of the processor next to a busy thread, so that the recorder keeps up
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), less)
}
