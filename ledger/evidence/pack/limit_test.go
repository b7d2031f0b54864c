package pack_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManifestWithMillionsOfPathsTakesNoMemory is not parallel: it counts what the whole
// process allocates.
func TestManifestWithMillionsOfPathsTakesNoMemory(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(`{"files":[`)
	for i := range 500_000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"path":"f%d"}`, i)
	}
	text.WriteString(`]}`)
	var err error
	bytes := allocated(func() { _, err = pack.ManifestFiles(text.Bytes(), 10_000) })
	if err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("got %v", err)
	}
	if bytes > 16<<20 {
		t.Errorf("the refusal allocated %d bytes", bytes)
	}
	files, err := pack.ManifestFiles([]byte(`{"other":[1],"files":[{"path":"a"},{"path":"b"}]}`), 2)
	if err != nil || len(files) != 2 || files[1].Path != "b" {
		t.Errorf("got %v, %v", files, err)
	}
	if _, err := pack.ManifestFiles([]byte(`{"files":{"path":"a"}}`), 2); err == nil {
		t.Error("an object was read as a list of files")
	}
}

// TestRecordWithMillionsOfAttributesTakesNoMemory is not parallel, either.
func TestRecordWithMillionsOfAttributesTakesNoMemory(t *testing.T) {
	var line bytes.Buffer
	line.WriteString(`{"log_index":7,"stream_seq":9,"recorded_at":"2026-01-02T03:04:05Z","leaf":"` + strings.Repeat("00", 32) + `","salt":"` + strings.Repeat("00", 16) + `","attributes":{`)
	for i := range 1_000_000 {
		if i > 0 {
			line.WriteByte(',')
		}
		fmt.Fprintf(&line, `"a%d":"x"`, i)
	}
	line.WriteString("},\"data\":\"{}\"}\n")
	var err error
	bytes := allocated(func() { _, err = pack.ParseRecord(line.Bytes()) })
	if err == nil || !strings.Contains(err.Error(), "more than 1024 attributes") {
		t.Errorf("got %v", err)
	}
	if bytes > 1<<20 {
		t.Errorf("the refusal allocated %d bytes", bytes)
	}
}

// TestEmptyFoldersOfAZipAreNamed: a folder of files is lawful, since zip tools write them.
func TestEmptyFoldersOfAZipAreNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pack.zip")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	for _, name := range []string{"a/", "a/b/", "a/b/file", "c/", "c/d/"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := pack.Open(path, pack.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var named []string
	for _, f := range r.Faults() {
		named = append(named, f.Path)
	}
	if !slices.Equal(named, []string{"c/", "c/d/"}) {
		t.Errorf("faults are of %q", named)
	}
}
