//go:build !linux

package embedded

import "syscall"

// endWithParent does nothing: only Linux can. An npm whose parent was killed
// ends by itself, into a folder that the next fetch removes.
func endWithParent(*syscall.SysProcAttr) {}
