package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// FuzzPack replaces bytes of one file of a signed pack. Verification never panics, and it
// finds each change. Further signatures of a head are the exception: they are noted.
func FuzzPack(f *testing.F) {
	original := sealed(f, filepath.Join(f.TempDir(), "pack"), false, 6, 1)
	reader, err := pack.Open(original.target, pack.DefaultLimits())
	if err != nil {
		f.Fatal(err)
	}
	var paths []string
	texts := make(map[string][]byte)
	for _, e := range reader.Files() {
		paths = append(paths, e.Path)
		texts[e.Path] = original.read(e.Path)
	}
	if err := reader.Close(); err != nil {
		f.Fatal(err)
	}
	work := filepath.Join(f.TempDir(), "work")
	if err := os.CopyFS(work, os.DirFS(original.target)); err != nil {
		f.Fatal(err)
	}
	for i := range paths {
		f.Add(uint8(i), uint16(10), uint16(1), []byte("x"))
		f.Add(uint8(i), uint16(0), uint16(60_000), []byte{})
		f.Add(uint8(i), uint16(40), uint16(0), []byte("\n{}\n"))
	}
	f.Fuzz(func(t *testing.T, file uint8, at, length uint16, with []byte) {
		path := paths[int(file)%len(paths)]
		text := texts[path]
		from := int(at) % (len(text) + 1)
		to := min(len(text), from+int(length))
		changed := bytes.Join([][]byte{text[:from], with, text[to:]}, nil)
		target := filepath.Join(work, filepath.FromSlash(path))
		if err := os.WriteFile(target, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(target, text, 0o600)
		report := verifyAt(t, work, original.key)
		same := bytes.Equal(changed, text)
		noted := path == pack.CheckpointFile(1) && len(report.Of(Signature).Notes) > 0
		if report.Failed() == same && !noted {
			t.Fatalf("%s with %d changed bytes: failed is %v\n%s", path, len(with), report.Failed(), faults(report))
		}
	})
}
