package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// ringFile returns the path of the ledger's key ring in a data folder.
func ringFile(data string) string { return filepath.Join(data, folder, "ledger.proof") }

// ErrNoRing means that a data folder has no ring of the ledger.
var ErrNoRing = errors.New("the ledger has no key for its transparency log: run `ctxledger proof keygen`")

// ReadRing returns the ring of the ledger. Errors: [ErrNoRing].
func ReadRing(data string) (proof.Ring, error) {
	file := ringFile(data)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return proof.Ring{}, ErrNoRing
	}
	if err != nil {
		return proof.Ring{}, fmt.Errorf("read the ledger's key ring: %w", err)
	}
	if err := checkPrivate(file); err != nil {
		return proof.Ring{}, err
	}
	ring, err := proof.ParseRing(text)
	if err != nil {
		return ring, fmt.Errorf("key file %s: %w", file, err)
	}
	return ring, nil
}

// OpenRing returns the ring of the ledger. A missing ring is created. Processes that open the
// ring at the same time get the same one. A folder that has a ring may be one that takes no files.
func OpenRing(data string) (proof.Ring, error) {
	if ring, err := ReadRing(data); !errors.Is(err, ErrNoRing) {
		return ring, err
	}
	return changeRing(data, func(ring proof.Ring) (proof.Ring, error) {
		if !ring.IsZero() {
			return ring, nil
		}
		return proof.NewRing(time.Now())
	})
}

// RotateRing adds a new signing key to the ring. Only the public half of the old key remains.
// Errors: [ErrNoRing].
func RotateRing(data string) (proof.Ring, error) {
	return changeRing(data, func(ring proof.Ring) (proof.Ring, error) {
		if ring.IsZero() {
			return ring, ErrNoRing
		}
		return ring.Rotate(time.Now())
	})
}

// changeRing edits the ring under a lock and replaces its file atomically.
func changeRing(data string, edit func(proof.Ring) (proof.Ring, error)) (proof.Ring, error) {
	file := ringFile(data)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return proof.Ring{}, fmt.Errorf("make the key folder: %w", err)
	}
	lock := flock.New(filepath.Join(filepath.Dir(file), ".lock"))
	if err := lock.Lock(); err != nil {
		return proof.Ring{}, fmt.Errorf("lock the key folder: %w", err)
	}
	defer lock.Unlock()
	ring, err := ReadRing(data)
	if err != nil && !errors.Is(err, ErrNoRing) {
		return ring, err
	}
	count := len(ring.Keys)
	if ring, err = edit(ring); err != nil || len(ring.Keys) == count {
		return ring, err
	}
	return ring, replace(file, ring.Format())
}
