package pack

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

var testHeader = Header{ID: "p", Created: time.Unix(1, 0).UTC(), Scope: Scope{Kind: ScopeSession, Session: "s"}, Logs: []string{"o"}}

// writeSome makes a pack with a few files.
func writeSome(t testing.TB, target string, asZip bool) note.Verifier {
	t.Helper()
	signer, verifier := newKey(t, "k")
	w, err := NewWriter(target, asZip, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	events, err := w.Create(EventsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(ContextFile("items"), []byte("[]\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := events.Write([]byte("one\ntwo")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(EventsFile); err == nil {
		t.Fatal("a file twice")
	}
	if err := w.Finish(nil, signer); err == nil {
		t.Fatal("finished with an open file")
	}
	return verifier
}

func TestWriterLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSome(t, filepath.Join(dir, "pack"), false)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// makePack makes a complete pack and returns its path.
func makePack(t testing.TB, asZip bool) string {
	t.Helper()
	signer, _ := newKey(t, "k")
	target := filepath.Join(t.TempDir(), "pack")
	w, err := NewWriter(target, asZip, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Put(EventsFile, []byte("one\ntwo")), w.Put(ContextFile("items"), []byte("[]\n")), w.Put(CheckpointFile(1), nil)); err != nil {
		t.Fatal(err)
	}
	var listed []File
	if err := w.Finish(func(files []File) ([]byte, error) {
		listed = files
		return []byte(`{"files":[]}`), nil
	}, signer); err != nil {
		t.Fatal(err)
	}
	want := []string{ContextFile("items"), EventsFile, HeaderFile, CheckpointFile(1)}
	if got := paths(listed); !slices.Equal(got, want) {
		t.Fatalf("the manifest is asked for %v", got)
	}
	sum := sha256.Sum256([]byte("one\ntwo"))
	if want := (File{EventsFile, "records", "application/x-ndjson", 7, HashPrefix + hex.EncodeToString(sum[:]), ""}); listed[1] != want || listed[3].Role != "proof" {
		t.Fatalf("%+v", listed)
	}
	return target
}

func paths(files []File) (list []string) {
	for _, f := range files {
		list = append(list, f.Path)
	}
	return list
}

func TestReaderReadsFolderAndZip(t *testing.T) {
	t.Parallel()
	for _, asZip := range []bool{false, true} {
		target := makePack(t, asZip)
		r, err := Open(target, DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if len(r.Faults()) > 0 || len(r.Files()) != 6 || !r.Has(EventsFile) || r.Has("no") {
			t.Fatalf("%v %v", r.Files(), r.Faults())
		}
		lines, err := r.Lines(EventsFile)
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range []string{"one\n", "two"} {
			if line, err := lines.Next(); err != nil || string(line) != want || lines.Number() != int64(n+1) {
				t.Fatalf("%q %v", line, err)
			}
		}
		if _, err := lines.Next(); err != io.EOF {
			t.Fatal(err)
		}
		if _, err := r.ReadFile("no"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if text, err := fs.ReadFile(r.FS(), HeaderFile); err != nil || !bytes.HasPrefix(text, []byte(`{"format"`)) {
			t.Errorf("%s %v", text, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("x", 600<<10)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte(long+"\nshort\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	limits := DefaultLimits()
	for _, most := range []int{1 << 20, 100 << 10} {
		limits.Line = most
		r, err := Open(dir, limits)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		lines, err := r.Lines("a")
		if err != nil {
			t.Fatal(err)
		}
		line, err := lines.Next()
		if whole := string(line) == long+"\n"; whole != (most > len(long)) || (err == nil) != whole {
			t.Errorf("limit %d: %d bytes, %v", most, len(line), err)
		}
	}
}

// faultOf returns the reader's reason for leaving path out.
func faultOf(r *Reader, path string) string {
	for _, f := range r.Faults() {
		if f.Path == path {
			return f.Reason
		}
	}
	return ""
}

func TestHostileFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	deep := filepath.Join(dir, strings.Repeat("d/", 12))
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "inside")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.MkdirAll(deep, 0o700),
		os.WriteFile(filepath.Join(deep, "file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(dir, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Files()) != 1 {
		t.Errorf("%v can be read", r.Files())
	}
	for path, want := range map[string]string{"link": "symbolic link", "inside": "symbolic link", "folder": "symbolic link", "pipe": "pipe", strings.TrimSuffix(strings.Repeat("d/", 9), "/"): "deeper"} {
		if got := faultOf(r, path); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %s", path, got, want)
		}
		if _, err := r.Open(path); err == nil {
			t.Errorf("%s can be opened", path)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "file")), os.Symlink(outside, filepath.Join(dir, "file"))); err != nil {
		t.Fatal(err)
	}
	if text, err := r.ReadFile("file"); err == nil {
		t.Errorf("a link put there afterwards is read: %q", text)
	}
}

// zipOf makes a zip of these entries. The comment of an entry is its content.
func zipOf(t testing.TB, entries ...zip.FileHeader) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		content := e.Comment
		e.Comment = ""
		w, err := z.CreateHeader(&e)
		if err == nil && !strings.HasSuffix(e.Name, "/") {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pack.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHostileZip(t *testing.T) {
	t.Parallel()
	link := zip.FileHeader{Name: "link", Comment: "/etc/passwd"}
	link.SetMode(fs.ModeSymlink | 0o777)
	device := zip.FileHeader{Name: "device"}
	device.SetMode(fs.ModeDevice | 0o777)
	path := zipOf(t, zip.FileHeader{Name: "good", Comment: "x"}, zip.FileHeader{Name: "context/"},
		zip.FileHeader{Name: "../up"}, zip.FileHeader{Name: "/root"}, zip.FileHeader{Name: "a/../../b"}, zip.FileHeader{Name: `a\b`}, zip.FileHeader{Name: "c:x"}, zip.FileHeader{Name: ""},
		link, device, zip.FileHeader{Name: "twice", Comment: "1"}, zip.FileHeader{Name: "twice", Comment: "2"},
		zip.FileHeader{Name: strings.Repeat("d/", 12) + "x"}, zip.FileHeader{Name: "bomb", Method: zip.Deflate, Comment: strings.Repeat("0", 60<<10)})
	limits := DefaultLimits()
	r, err := Open(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Has("good") || len(r.Files()) != 2 {
		t.Errorf("%v can be read", r.Files())
	}
	for path, want := range map[string]string{
		"../up": "leads out", "/root": "leads out", "a/../../b": "leads out", `a\\b`: "no plain path", "c:x": "no plain path", "": "no plain path",
		"link": "symbolic link", "device": "device", "twice": "twice", strings.Repeat("d/", 12) + "x": "deeper",
	} {
		if got := faultOf(r, path); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %s (%v)", path, got, want, r.Faults())
		}
	}
}

func TestZipBombs(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "bomb", Method: zip.Deflate})
	for range 100 {
		if err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
	}
	for i := range 2000 {
		if err == nil {
			_, err = z.CreateHeader(&zip.FileHeader{Name: strings.Repeat("n", 50) + string(rune('a'+i%26)) + strings.Repeat("m", i%40)})
		}
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bomb.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := faultOf(r, "bomb"); !strings.Contains(got, "zip bomb") || r.Has("bomb") {
		t.Errorf("%q", got)
	}
	limits := DefaultLimits()
	limits.Directory = 10 << 10
	var fault *Fault
	if _, err := Open(path, limits); !errors.As(err, &fault) || !strings.Contains(fault.Reason, "directory") {
		t.Errorf("%v", err)
	}
	limits = DefaultLimits()
	limits.Files, limits.Ratio = 100, 1<<20
	few, err := Open(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer few.Close()
	if got := faultOf(few, ""); !strings.Contains(got, "100 files") {
		t.Errorf("%v", few.Faults())
	}
	limits = DefaultLimits()
	limits.TotalSize, limits.Ratio = 1<<20, 1<<20
	small, err := Open(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	if got := faultOf(small, ""); !strings.Contains(got, "1048576 bytes") || small.Has("bomb") {
		t.Errorf("%v", small.Faults())
	}
}

func TestNoPack(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("not a zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	var fault *Fault
	if _, err := Open(file, DefaultLimits()); !errors.As(err, &fault) {
		t.Error(err)
	}
	if _, err := Open(file+"y", DefaultLimits()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(os.DevNull, DefaultLimits()); !errors.As(err, &fault) {
		t.Error(err)
	}
}

// TestPackIsAFileSystem checks FS with fstest. FS has no folders, so the check opens each file
// separately.
func TestPackIsAFileSystem(t *testing.T) {
	t.Parallel()
	r, err := Open(makePack(t, true), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range r.Files() {
		info, err := fs.Stat(r.FS(), e.Path)
		if err != nil || info.Size() != e.Size || info.IsDir() {
			t.Errorf("%s: %v", e.Path, err)
		}
	}
	if _, err := r.FS().Open("../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

// FuzzOpenZip opens arbitrary zips and reads all of their files.
func FuzzOpenZip(f *testing.F) {
	for _, path := range []string{makePack(f, true), zipOf(f, zip.FileHeader{Name: "../up", Comment: "x"})} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := os.CreateTemp(dir, "*.zip")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(text); err != nil {
			t.Fatal(err)
		}
		file.Close()
		limits := DefaultLimits()
		limits.TotalSize = 8 << 20
		r, err := Open(file.Name(), limits)
		if err != nil {
			return
		}
		defer r.Close()
		for _, e := range r.Files() {
			if !fs.ValidPath(e.Path) {
				t.Fatalf("path %q", e.Path)
			}
			if got, err := r.ReadFile(e.Path); err == nil && int64(len(got)) > e.Size {
				t.Fatalf("%d bytes of %d", len(got), e.Size)
			}
		}
	})
}
