package keyfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPrivate(t *testing.T) {
	for _, c := range []struct {
		mode        fs.FileMode
		owner, self int
		want        bool
	}{
		{0o600, 1000, 1000, true},
		{0o400, 0, 0, true},
		{0o440, 0, 65532, true}, // a secret of Kubernetes with a group of its own
		{0o640, 0, 65532, true},
		{0o660, 0, 65532, false},
		{0o444, 0, 65532, false},
		{0o440, 0, 0, false},
		{0o440, 1000, 1000, false},
		{0o440, 1000, 65532, false},
		{0o440, -1, 65532, false},
	} {
		if got := private(c.mode, c.owner, c.self); got != c.want {
			t.Errorf("mode %o of user %d, read by %d: %v", c.mode, c.owner, c.self, got)
		}
	}
}

// TestKeysOfAMountedSecret reads both kinds of rings from a folder that takes no files, in which each
// name is a link, as Kubernetes mounts a secret.
func TestKeysOfAMountedSecret(t *testing.T) {
	source, data := t.TempDir(), t.TempDir()
	ring, err := OpenRing(source)
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := Open(source, "acme")
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(data, folder)
	if err := os.CopyFS(filepath.Join(keys, "..2026"), os.DirFS(filepath.Join(source, folder))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..2026", filepath.Join(keys, "..data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ledger.proof", "acme.keys"} {
		if err := os.Chmod(filepath.Join(keys, "..2026", name), 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(keys, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(keys, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(keys, 0o700) })
	if got, err := OpenRing(data); err != nil || string(got.Format()) != string(ring.Format()) {
		t.Errorf("the ledger's ring: %v", err)
	}
	if got, err := Open(data, "acme"); err != nil || got.Keys[0].ID != tenant.Keys[0].ID {
		t.Errorf("the tenant's ring: %v", err)
	}
	if got, err := List(data); err != nil || len(got) != 1 {
		t.Errorf("%d rings, %v", len(got), err)
	}
	if entries, err := os.ReadDir(keys); err != nil || len(entries) != 4 { // the folder, its link, and both files
		t.Errorf("opening left %v in the folder, %v", entries, err)
	}
}
