package keyfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
)

// TestRingAtOnce: the first process makes the ring, all processes get it, and other users
// cannot read it.
func TestRingAtOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if _, err := keyfile.ReadRing(data); !errors.Is(err, keyfile.ErrNoRing) {
		t.Errorf("read a ring that is not there: %v", err)
	}
	if _, err := keyfile.RotateRing(data); !errors.Is(err, keyfile.ErrNoRing) {
		t.Errorf("rotated a ring that is not there: %v", err)
	}
	names := make([]string, 8)
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() {
			ring, err := keyfile.OpenRing(data)
			if err != nil {
				t.Error(err)
			}
			names[i] = ring.Name
		})
	}
	all.Wait()
	for _, name := range names {
		if name != names[0] || name == "" {
			t.Fatalf("different rings: %v", names)
		}
	}
	file := filepath.Join(data, "keys", "ledger.proof")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key file has %v, %v", info, err)
	}
	before, err := keyfile.ReadRing(data)
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := keyfile.RotateRing(data)
	if err != nil || len(rotated.Keys) != 2 || rotated.Keys[0].Public != before.Keys[0].Public || !rotated.Secret.Same(before.Secret) {
		t.Errorf("rotated to %v, %v", rotated, err)
	}
	if rings, err := keyfile.List(data); err != nil || len(rings) > 0 {
		t.Errorf("the ring is taken for a tenant's: %v, %v", rings, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.ReadRing(data); err == nil {
		t.Error("a ring that others can read is taken")
	}
}
