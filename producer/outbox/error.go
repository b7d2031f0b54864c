package outbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"
)

// The errors of an outbox.
var (
	// ErrInUse means that another process, or this process, has the file open. Give each
	// process its own file.
	ErrInUse = errors.New("the outbox is in use: give each process its own file")
	// ErrDamaged means that the file has unexpected content. Move the file away, for an
	// investigation, and open a new one. The events that were not yet in the stream are
	// lost. The new file has a new instance.
	ErrDamaged = errors.New("the outbox is damaged: move the file away and open a new one; the events that waited in the file are lost")
	// ErrFull means that MaxBytes bytes wait. The error ends when the stream accepts
	// batches again.
	ErrFull = errors.New("the outbox is full")
	// ErrDiskFull means that the file cannot grow: the disk, a quota or the limit for files
	// is exhausted. Nothing in the outbox is lost. The outbox continues when there is
	// space.
	ErrDiskFull = errors.New("no space on the disk of the outbox: free some space")
	// ErrClosed means that the outbox was closed. ErrClosed wraps [os.ErrClosed].
	ErrClosed = fmt.Errorf("the outbox: %w", os.ErrClosed)
)

// damaged returns an ErrDamaged with the place of the damage and without the content.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w (%s)", ErrDamaged, fmt.Sprintf(format, args...))
}

var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// saysDiskFull matches the one error of bbolt that wraps no error: the error of extending
// the file.
func saysDiskFull(err error) bool {
	return slices.ContainsFunc(diskFull, func(e error) bool { return strings.HasSuffix(err.Error(), ": "+e.Error()) })
}

// explain converts errors of bbolt and of the operating system to errors of this package.
func explain(err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case err == nil, is(ErrDamaged, ErrFull):
		return err
	case is(bolterrors.ErrTimeout):
		return ErrInUse
	case is(bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case is(bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrInvalidMapping):
		return damaged("%v", err)
	case is(diskFull...), saysDiskFull(err):
		return fmt.Errorf("%w (%v)", ErrDiskFull, err)
	}
	return err
}
