package importer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// conversation writes the events of a log of testdata into a folder in the form of OpenHands.
// Each event is a file with a name from pattern and number. Other content goes into
// base_state.json. conversation returns the folder.
func conversation(t *testing.T, log, pattern string) (folder string, text []byte) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "sessions", "x")
	write := func(name, text string) {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	number := 8 // makes the order of names differ from the order of numbers
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"stats":`) {
			write("base_state.json", line)
			continue
		}
		write("events/"+fmt.Sprintf(pattern, number), "{\n"+strings.TrimPrefix(line, "{"))
		number++
	}
	write("event_cache/0-2.json", "["+strings.Join(strings.SplitN(string(text), "\n", 4)[1:3], ",")+"]")
	write("events/.lock", "")
	return folder, text
}

func importPath(t *testing.T, path string) imported {
	t.Helper()
	var got imported
	var err error
	got.report, err = importer.ImportFile(context.Background(), model.FormatAuto, path, testOptions(), func(e *schema.Event) error {
		got.events = append(got.events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFolders: a folder of events gives the same bytes as the events in one file, in any order of
// the names.
func TestFolders(t *testing.T) {
	for log, pattern := range map[string]string{"testdata/openhands/events.jsonl": "%d.json", "testdata/openhands/sdk.jsonl": "event-%05d-5df490d1.json"} {
		folder, text := conversation(t, log, pattern)
		for _, path := range []string{folder, filepath.Join(folder, "events"), filepath.Dir(filepath.Dir(folder))} {
			files, problems := importer.Files(path, model.FormatAuto)
			if len(files) != 1 || files[0] != filepath.Join(folder, "events") || len(problems) > 0 {
				t.Fatalf("%s: %v, %v", path, files, problems)
			}
		}
		got, want := importPath(t, filepath.Join(folder, "events")), importAs(t, model.FormatOpenHands, "f", text, testOptions())
		equal(t, log+": events", len(got.events), len(want.events))
		for i := range got.events {
			if got.events[i].Digest() != want.events[i].Digest() {
				t.Fatalf("%s: event %d differs: %s, want %s", log, i, got.events[i].Data, want.events[i].Data)
			}
		}
		equal(t, log+": problems", len(got.report.Problems), len(want.report.Problems))
		for i, p := range want.report.Problems {
			q := got.report.Problems[i]
			equal(t, log+": problem", q, model.Problem{File: q.File, Reason: p.Reason, Detail: p.Detail})
			file, err := os.ReadFile(q.File)
			if line := bytes.Split(text, []byte("\n"))[p.Line-1]; err != nil || !bytes.Contains(file, line[1:]) {
				t.Errorf("%s: %v, %v", log, q, err)
			}
		}
	}
}

// TestBrokenFolder: problems name the files that cannot be read, and the other events are
// imported.
func TestBrokenFolder(t *testing.T) {
	folder, text := conversation(t, "testdata/openhands/events.jsonl", "%d.json")
	want := importAs(t, model.FormatOpenHands, "f", bytes.Join(bytes.Split(text, []byte("\n"))[3:], []byte("\n")), testOptions())
	for name, text := range map[string]string{"8.json": `{"id":0,`, "9.json": "no JSON"} {
		if err := os.WriteFile(filepath.Join(folder, "events", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gone := filepath.Join(folder, "events", "10.json")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", gone); err != nil {
		t.Fatal(err)
	}
	got := importPath(t, filepath.Join(folder, "events"))
	equal(t, "facts", got.report.Facts, want.report.Facts)
	equal(t, "problems beside those of the others", len(got.report.Problems), len(want.report.Problems)+3)
	reasons := make(map[string]model.Reason)
	for _, p := range got.report.Problems {
		reasons[filepath.Base(p.File)] = p.Reason
	}
	equal(t, "of the unfinished file", reasons["8.json"], model.ReasonTruncatedLine)
	equal(t, "of the other file", reasons["9.json"], model.ReasonMalformedJSON)
	equal(t, "of the file that is gone", reasons["10.json"], model.ReasonNotFound)
}
