//go:build !linux

package confine

import (
	"fmt"
	"os/exec"
)

// Available returns an error that wraps [ErrUnavailable].
func Available() error {
	return fmt.Errorf("Landlock is %w: only Linux has it", ErrUnavailable)
}

// Start returns an error that wraps [ErrUnavailable].
func Start(*exec.Cmd, Rules) error { return Available() }
