package verify

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// TestBrokenZip changes a packed byte of each file, one file at a time. The bytes after the change
// unpack to arbitrary text. Each question names one fault of the file: the first wrong or
// unreadable line.
func TestBrokenZip(t *testing.T) {
	t.Parallel()
	r := sealed(t, filepath.Join(t.TempDir(), "pack.zip"), true, 120, 3)
	whole, err := os.ReadFile(r.target)
	r.must(err)
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	r.must(err)
	broken, exact, near := filepath.Join(t.TempDir(), "broken.zip"), 0, 0
	for _, f := range z.File {
		begin, err := f.DataOffset()
		r.must(err)
		for part := range int64(3) {
			at := begin + (2*part+1)*int64(f.CompressedSize64)/6
			changed := bytes.Clone(whole)
			changed[at] ^= 0x10
			r.must(os.WriteFile(broken, changed, 0o600))
			report := verifyAt(t, broken, r.key)
			var named []Question
			for _, v := range report.Verdicts {
				for _, found := range v.Faults {
					if found.File != f.Name {
						t.Errorf("%s, byte %d: %s blames another file: %+v", f.Name, at, v.Question, found)
					}
					if found.Line > 0 {
						named = append(named, v.Question)
					}
				}
			}
			if slices.Sort(named); len(slices.Compact(slices.Clone(named))) != len(named) {
				t.Errorf("%s, byte %d: named twice:\n%s", f.Name, at, faults(report))
			}
			format := report.Of(Format).Faults
			if len(format) != 1 {
				t.Fatalf("%s, byte %d: faults of the format:\n%s", f.Name, at, faults(report))
			}
			switch f.Name {
			case pack.HeaderFile, pack.ManifestFile, pack.AttestationFile, pack.CheckpointFile(1), pack.HashesFile(1):
				continue // these are read as a whole
			}
			switch place := firstChange(t, f, changed[begin:begin+int64(f.CompressedSize64)]); {
			case format[0].Line == place:
				exact++
			case format[0].Line > place && filepath.Ext(f.Name) == ".json":
				near++ // moved parts of a file are not compared line by line
			case format[0].Line > place:
				t.Errorf("%s, byte %d: line %d is named, and %d is the first", f.Name, at, format[0].Line, place)
			default:
				near++ // more bytes than stated, and these are unreadable
			}
		}
	}
	if exact < 2*near {
		t.Errorf("%d places are the first, %d are not", exact, near)
	}
}

// firstChange returns the first line with different or missing bytes after unpacking.
func firstChange(t *testing.T, f *zip.File, packed []byte) int64 {
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(flate.NewReader(bytes.NewReader(packed))) // up to the first error
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	return int64(1 + bytes.Count(want[:same], []byte("\n")))
}
