package keyfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
)

// TestOpenAtOnce: the first process makes the key, and all processes get it.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	ids := make([]string, 16)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			ring, err := keyfile.Open(data, "acme/../x")
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = ring.Current().ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("different keys: %v", ids)
		}
	}
	files, err := filepath.Glob(filepath.Join(data, "keys", "*.keys"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder holds %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has %v, %v", info.Mode(), err)
	}
}

func TestRotateKeepsOldKeys(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, err := keyfile.Open(data, "acme")
	if err != nil {
		t.Fatal(err)
	}
	second, err := keyfile.Rotate(data, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if len(second.Keys) != 2 || second.Keys[0].ID != first.Current().ID || second.Current().ID == first.Current().ID {
		t.Errorf("after a rotation there are %d keys, current %s", len(second.Keys), second.Current().ID)
	}
	rings, err := keyfile.List(data)
	if err != nil || len(rings) != 1 || rings[0].Tenant != "acme" {
		t.Errorf("listed %v, %v", rings, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]struct {
		do   func(file string) error
		says string
	}{
		"a file for everyone":   {func(file string) error { return os.Chmod(file, 0o644) }, "can be read by other users"},
		"another tenant's file": {func(file string) error { return os.Rename(file, filepath.Join(filepath.Dir(file), "b.keys")) }, `holds the keys of tenant "a"`},
		"a damaged file":        {func(file string) error { return os.WriteFile(file, []byte("nonsense\n"), 0o600) }, "key file "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			ring, err := keyfile.Open(data, "a")
			if err != nil {
				t.Fatal(err)
			}
			if err := harm.do(filepath.Join(data, "keys", "a.keys")); err != nil {
				t.Fatal(err)
			}
			_, err = keyfile.List(data)
			if err == nil || !strings.Contains(err.Error(), harm.says) {
				t.Errorf("got %v, want %q", err, harm.says)
			}
			if err != nil && strings.Contains(err.Error(), string(ring.Format())) {
				t.Error("the error holds the key")
			}
		})
	}
}
