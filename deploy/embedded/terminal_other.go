//go:build !linux

package embedded

import (
	"errors"
	"os"
)

// openTerminal is written for Linux only, where it could be tried.
func openTerminal() (master, slave *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
