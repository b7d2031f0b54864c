//go:build !linux

package embedded

import (
	"errors"
	"os"
)

// openTerminal exists for Linux only, the only tested platform.
func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
