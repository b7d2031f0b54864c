package embedded

import "syscall"

// endWithParent makes the kernel kill a helper process when the thread that
// starts it dies; the caller keeps its goroutine on that thread meanwhile. Fit
// for npm, which may be cut off anywhere, and not for the engine, which stops in
// order by its pipe.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
