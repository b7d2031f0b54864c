//go:build !linux

package embedded

import "syscall"

// endWithParent does nothing, because only Linux supports it. An npm process without its parent
// ends normally. The next fetch removes its folder.
func endWithParent(*syscall.SysProcAttr) {}
