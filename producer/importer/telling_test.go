package importer_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// TestTellings: imports of one log with other options give facts with the same ids, subjects and
// order. Only their sources differ, so both can be stored.
func TestTellings(t *testing.T) {
	for log, format := range logs(t) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		bare := testOptions()
		bare.StoreText = false
		full := bare
		full.StoreText = true
		other := bare
		other.Count = nil
		titled := bare
		titled.Titles = testTitles
		told := importAs(t, format, "log", text, bare).events
		for name, opts := range map[string]model.Options{"text": full, "no counts": other, "titles": titled} {
			again := importAs(t, format, "log", text, opts).events
			if len(again) != len(told) {
				t.Fatalf("%s, %s: %d facts instead of %d", log, name, len(again), len(told))
			}
			for i, e := range again {
				was := told[i]
				if e.ID != was.ID || e.Subject != was.Subject || *e.Sequence != *was.Sequence {
					t.Fatalf("%s, %s: fact %d is %s of %s, not %s of %s", log, name, i, e.ID, e.Subject, was.ID, was.Subject)
				}
				a, b := toldAs(e), toldAs(was)
				revision := model.Revision
				if a.IsSlice() {
					revision = model.SliceRevision
				}
				if e.Source == was.Source || a.Log != b.Log || a.Revision != revision || a.Texts != opts.StoreText || b.Texts {
					t.Fatalf("%s, %s: sources %q and %q", log, name, e.Source, was.Source)
				}
			}
		}
	}
}

// toldAs is how the log of an event was told.
func toldAs(e *schema.Event) telling.Telling {
	t, _ := telling.Parse(e.Source)
	return t
}

// TestRevision: facts of a released log change with a higher revision only. The file testdata/revision.txt
// has the revision and the digest of each golden file. Run TestGolden and TestRevision with -update.
func TestRevision(t *testing.T) {
	var now bytes.Buffer
	revision := fmt.Sprintf("revision %d, %d of slices\n", model.Revision, model.SliceRevision)
	now.WriteString(revision)
	err := filepath.WalkDir("testdata", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".golden" {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&now, "%x %s\n", sha256.Sum256(text), filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/revision.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := string(text)
	if rest, same := strings.CutPrefix(was, revision); same {
		for line := range strings.Lines(rest) {
			digest, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			if found := now.String(); strings.Contains(found, " "+path+"\n") && !strings.Contains(found, digest) {
				t.Errorf("%s has other facts than %s had: raise model.Revision, or model.SliceRevision for a slice", path, strings.TrimSpace(revision))
			}
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, now.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(now.Bytes(), text) {
		t.Errorf("%s is not that of the golden files: run this test with -update", file)
	}
}
