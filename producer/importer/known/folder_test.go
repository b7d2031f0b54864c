package known

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// TestALogThatIsAsItWas: any change of a log's file or folder makes it another log.
func TestALogThatIsAsItWas(t *testing.T) {
	t.Parallel()
	folder := Folder(filepath.Join(t.TempDir(), "memory"))
	log := filepath.Join(t.TempDir(), "events")
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(log, "1.json")
	// settle gives a stamp of a time at which the log is old.
	settle := func(path string) Stamp {
		s := StampOf(path)
		s.Taken = s.Taken.Add(time.Minute)
		return s
	}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(path string) {
		t.Helper()
		report, err := model.Report{Facts: 3}.Kept()
		if err == nil {
			err = folder.Keep(path, "auto", Entry{Stamp: settle(path), At: []Place{{uuid.New(), 1}}, Report: report})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{file, log} {
		write("one", old)
		if _, _, ok := folder.Find(path, "auto", settle(path)); ok {
			t.Errorf("%s is known before it is kept", path)
		}
		keep(path)
		if _, r, ok := folder.Find(path, "auto", settle(path)); !ok || r.Facts != 3 {
			t.Errorf("%s is not known: %+v", path, r)
		}
		if _, _, ok := folder.Find(path, "codex", settle(path)); ok {
			t.Errorf("%s is known with other options", path)
		}
		if _, _, ok := folder.Find(path, "auto", StampOf(path)); ok { // the file was changed a moment ago
			t.Errorf("%s is known although it may still be written", path)
		}
		write("two", old) // the same size and time; a change of the inode is seen
		if _, _, ok := folder.Find(path, "auto", settle(path)); ok {
			t.Errorf("%s is known with another content", path)
		}
	}
	keep(file)
	entries, err := os.ReadDir(string(folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.WriteFile(filepath.Join(string(folder), e.Name()), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := folder.Find(file, "auto", settle(file)); ok {
		t.Error("a damaged entry is used")
	}
	if _, _, ok := Folder("").Find(file, "auto", settle(file)); ok || StampOf(filepath.Join(log, "none")).sure() {
		t.Error("nothing is known")
	}
}
