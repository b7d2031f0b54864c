package embedded

import "syscall"

// endWithParent makes the kernel kill a helper process when the thread that starts it ends. The
// caller keeps its goroutine on that thread meanwhile. endWithParent is for npm, which can be
// killed at any time. endWithParent is not for the engine, which must stop in order through its
// pipe.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
