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

// What can be wrong with an outbox.
var (
	// ErrInUse means that another process, or this one, has the file open. Give
	// each process a file of its own.
	ErrInUse = errors.New("the outbox is in use: give each process a file of its own")
	// ErrDamaged means that the file is not what was written. Move it away, for
	// somebody to look at, and open a new one: what was in it and not yet in the
	// stream is lost, and the new file is a new instance.
	ErrDamaged = errors.New("the outbox is damaged: move the file away and open a new one; what waited in it is lost")
	// ErrFull means that MaxBytes wait. It goes away when the stream takes
	// batches again.
	ErrFull = errors.New("the outbox is full")
	// ErrDiskFull means that the file cannot grow: the disk, a quota or the limit
	// for files is exhausted. Nothing in the outbox is lost; it goes on when there
	// is room.
	ErrDiskFull = errors.New("no room on the disk of the outbox: make some")
	// ErrClosed means that the outbox was closed. It wraps [os.ErrClosed].
	ErrClosed = fmt.Errorf("the outbox: %w", os.ErrClosed)
)

// damaged says where the damage is, and never what is there.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w (%s)", ErrDamaged, fmt.Sprintf(format, args...))
}

var diskFull = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// saysDiskFull is for the one error of bbolt that wraps nothing, that of making
// the file longer.
func saysDiskFull(err error) bool {
	return slices.ContainsFunc(diskFull, func(e error) bool { return strings.HasSuffix(err.Error(), ": "+e.Error()) })
}

// explain puts what bbolt and the operating system say into this package's words.
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
