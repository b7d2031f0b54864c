package follow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/follow"
	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// folder is a folder of logs with a follower.
type folder struct {
	*testing.T
	path string
	*follow.Follower
}

func newFolder(t *testing.T, poll bool) *folder {
	path := filepath.Join(t.TempDir(), "logs")
	f := follow.New(follow.Config{Paths: []string{path}, Format: model.FormatAuto, Poll: poll})
	t.Cleanup(f.Close)
	return &folder{t, path, f}
}

func (f *folder) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		f.Fatal(err)
	}
}

// expect waits for changes of all these logs and of no others. Several changes may be told as one or
// as two.
func (f *folder) expect(names ...string) (changed []follow.Changed) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	missing := make(map[string]bool)
	for _, name := range names {
		missing[filepath.Join(f.path, name)] = true
	}
	for len(missing) > 0 {
		list, err := f.Next(ctx)
		if err != nil {
			f.Fatalf("%v did not change", missing)
		}
		for _, c := range list {
			delete(missing, c.Path)
			changed = append(changed, c)
		}
	}
	return changed
}

// before returns the text of the file that was replaced.
func before(t *testing.T, changed []follow.Changed) string {
	t.Helper()
	for _, c := range changed {
		if c.Before != nil {
			text, err := io.ReadAll(c.Before)
			if err := errors.Join(err, c.Before.Close()); err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	return ""
}

func each(t *testing.T, test func(f *folder)) {
	t.Parallel()
	for name, poll := range map[string]bool{"notifications": false, "polls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if poll && testing.Short() {
				t.Skip("waits for polls: run without -short")
			}
			test(newFolder(t, poll))
		})
	}
}

// TestChanges: a folder that does not exist yet, new logs in new folders, and logs that grow, are cut,
// go away and come again.
func TestChanges(t *testing.T) {
	each(t, func(f *folder) {
		f.write("a.jsonl", "1\n")
		f.expect("a.jsonl")
		f.write("a.jsonl", "2\n")
		f.expect("a.jsonl")
		f.write("2026/02/b.jsonl", "1\n")
		f.expect("2026/02/b.jsonl")
		f.write("2026/02/b.jsonl", "2\n")
		f.write("a.jsonl", "3\n")
		f.expect("2026/02/b.jsonl", "a.jsonl")
		if err := os.Truncate(filepath.Join(f.path, "a.jsonl"), 2); err != nil {
			t.Fatal(err)
		}
		f.expect("a.jsonl")
		if f.Logs() != 2 {
			f.Errorf("%d logs are followed", f.Logs())
		}
		if err := os.RemoveAll(filepath.Join(f.path, "2026")); err != nil {
			t.Fatal(err)
		}
		f.write("2026/02/b.jsonl", "other\n")
		f.expect("2026/02/b.jsonl")
		f.write("2026/02/b.jsonl", "more\n")
		f.expect("2026/02/b.jsonl")
	})
}

// TestReplacedLogs: the lines that came before a log was rotated can still be read.
func TestReplacedLogs(t *testing.T) {
	each(t, func(f *folder) {
		f.write("a.jsonl", "1\n")
		f.write("next", "of the next\n")
		f.expect("a.jsonl", "next")
		f.write("a.jsonl", "unread\n")
		if err := os.Rename(filepath.Join(f.path, "next"), filepath.Join(f.path, "a.jsonl")); err != nil {
			t.Fatal(err)
		}
		if text := before(t, f.expect("a.jsonl")); text != "1\nunread\n" {
			f.Errorf("the replaced file has %q", text)
		}
		f.write("a.jsonl", "more\n")
		if text := before(t, f.expect("a.jsonl")); text != "" {
			f.Errorf("a file that was not replaced is told as %q", text)
		}
	})
}

// TestFoldersOfEvents: a folder with one event per file is one log.
func TestFoldersOfEvents(t *testing.T) {
	each(t, func(f *folder) {
		f.write("conversation/events/event-00000-a.json", "{}")
		f.expect("conversation/events")
		f.write("conversation/events/event-00001-b.json", "{}")
		f.expect("conversation/events")
	})
}

// TestFile follows one file next to others.
func TestFile(t *testing.T) {
	f := &folder{T: t, path: t.TempDir()}
	t.Chdir(f.path)
	f.Follower = follow.New(follow.Config{Paths: []string{"./log.jsonl"}, Format: model.FormatAuto})
	defer f.Close()
	f.write("other.jsonl", "1\n")
	f.write("log.jsonl", "1\n")
	changed, err := f.Next(t.Context())
	if err != nil || len(changed) != 1 || changed[0].Path != "log.jsonl" {
		t.Errorf("the changes are %v, %v", changed, err)
	}
}

// TestManyLogs: only some logs are held open, and all are followed.
func TestManyLogs(t *testing.T) {
	t.Parallel()
	f := newFolder(t, true)
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("%d.jsonl", i))
		f.write(names[i], "1\n")
	}
	f.expect(names...)
	for _, name := range names {
		f.write(name, "2\n")
	}
	f.expect(names...)
	if files, err := os.ReadDir("/proc/self/fd"); err == nil && len(files) > 150 {
		t.Errorf("%d files are open", len(files))
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFolder(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// TestHostileChanges: a log that is cut, rewritten in place with the same length, copied and emptied,
// replaced, and gone for a while is told each time. Only a file that was replaced is told as the one before,
// whole.
func TestHostileChanges(t *testing.T) {
	each(t, func(f *folder) {
		path := filepath.Join(f.path, "a.jsonl")
		f.write("a.jsonl", "1\n2\n3\n4\n")
		f.expect("a.jsonl")
		must := func(errs ...error) {
			f.Helper()
			if err := errors.Join(errs...); err != nil {
				f.Fatal(err)
			}
		}
		put := func(text string) error { return os.WriteFile(path, []byte(text), 0o600) }
		for _, step := range []struct {
			name, before string
			change       func()
		}{
			{"cut in the middle of a line", "", func() { must(os.Truncate(path, 5)) }},
			{"rewritten with the same length", "", func() {
				file, err := os.OpenFile(path, os.O_WRONLY, 0)
				must(err)
				_, err = file.WriteAt([]byte("5\n6\n7"), 0)
				must(err, file.Close())
			}},
			{"emptied after a copy", "", func() { must(os.WriteFile(path+".1.txt", []byte("5\n6\n7"), 0o600), os.Truncate(path, 0)) }},
			{"grown again", "", func() { must(put("8\n9\n")) }},
			{"replaced", "8\n9\n", func() { must(os.Rename(path, path+".2.txt"), put("10\n")) }},
			{"replaced by a copy of the same text", "10\n", func() { must(os.WriteFile(path+".3.txt", []byte("10\n"), 0o600), os.Rename(path+".3.txt", path)) }},
		} {
			step.change()
			if text := before(t, f.expect("a.jsonl")); text != step.before {
				f.Errorf("%s: the file before has %q instead of %q", step.name, text, step.before)
			}
		}
	})
}
