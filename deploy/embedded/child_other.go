//go:build !linux

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// openTerminal exists for Linux only, the only tested platform.
func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}

// endWithParent does nothing, because only Linux supports it. An npm process without its parent
// ends normally. The next fetch removes its folder.
func endWithParent(*syscall.SysProcAttr) {}
