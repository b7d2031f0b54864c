package importer_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// told is what a ledger has after several imports of one log: the first bytes of each fact.
type told struct {
	facts   map[string][]byte
	calls   map[string]int64 // call → most output tokens
	changed []string         // facts that came again with other bytes
}

func newTold() *told {
	return &told{facts: make(map[string][]byte), calls: make(map[string]int64)}
}

func (o *told) emit(tb testing.TB) func(*schema.Event) error {
	return func(e *schema.Event) error {
		key := e.Source + " " + e.ID
		text, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		if before, ok := o.facts[key]; !ok {
			o.facts[key] = text
		} else if !bytes.Equal(before, text) {
			o.changed = append(o.changed, string(before)+"\n"+string(text))
		}
		if u, ok := decode(tb, e).(*schema.UsageRecorded); ok {
			o.calls[u.CallID] = max(o.calls[u.CallID], model.ValueOf(u.Usage.Output))
		}
		return nil
	}
}

// grow imports the versions of a log, and compares with an import of the last one.
func grow(t *testing.T, file string, versions [][]byte) {
	t.Helper()
	growing, whole := newTold(), newTold()
	options := testOptions()
	options.Growing, options.Titles = true, testTitles
	var problems []model.Problem
	for _, version := range versions {
		report, err := importer.Import(t.Context(), model.FormatAuto, file, bytes.NewReader(version), options, growing.emit(t))
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, report.Problems...)
	}
	options.Growing = false
	var last model.Report
	for _, o := range []*told{growing, whole} {
		var err error
		if last, err = importer.Import(t.Context(), model.FormatAuto, file, bytes.NewReader(versions[len(versions)-1]), options, o.emit(t)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range problems {
		if p.Reason == model.ReasonTruncatedLine && !slices.Contains(last.Problems, p) {
			t.Errorf("a log that is being written has the problem %v", p)
		}
	}
	if len(growing.changed) > 0 {
		t.Errorf("%s: %d facts changed, such as\n%s", file, len(growing.changed), growing.changed[0])
	}
	equal(t, file+": calls", growing.calls, whole.calls)
	for key, text := range growing.facts {
		if _, ok := whole.facts[key]; !ok && !superseded(t, text) {
			t.Errorf("%s: a fact of the growing log is not one of the whole log: %s", file, text)
		}
	}
}

// superseded reports whether a fact is of a kind that a longer log gives again under another id: the
// usage of a call, a compaction without its summary.
func superseded(t *testing.T, text []byte) bool {
	var e struct {
		Type string `json:"type"`
		Data struct {
			Summary string `json:"summary_ref"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(e.Type, ".usage.recorded.") || strings.Contains(e.Type, ".compaction.completed.") && e.Data.Summary == ""
}

// TestGrowingLogs imports each log at many sizes, as if each were read while its program writes it.
// No fact changes, and no fact stays that the whole log does not have.
func TestGrowingLogs(t *testing.T) {
	t.Parallel()
	roots := []string{"testdata"}
	if folder := os.Getenv("CTXLEDGER_SHARED"); folder != "" {
		roots = append(roots, filepath.Join(folder, "transcripts"))
	}
	logs := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "fuzz") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if f, _, err := importer.Detect(bytes.NewReader(text)); err != nil || f == "" {
				return err
			}
			logs++
			cuts := 25
			if testing.Short() {
				cuts = 5
			}
			var versions [][]byte
			for i := 1; i <= cuts; i++ {
				n := len(text) * i / cuts
				if line := bytes.LastIndexByte(text[:n], '\n') + 1; line > 0 && len(text) < 1<<19 {
					versions = append(versions, text[:line])
				}
				versions = append(versions, text[:n])
			}
			grow(t, path, versions)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if logs < 15 {
		t.Errorf("only %d logs were found", logs)
	}
}

// TestGrowingLogsOfNothing: a log whose first record is being written is no problem, and a broken
// one is still reported.
func TestGrowingLogsOfNothing(t *testing.T) {
	t.Parallel()
	options := testOptions()
	options.Growing = true
	for text, problems := range map[string]int{
		"": 0, "{": 0, `{"type":"user","sess`: 0, "{\n  \"trajectory\": [\n": 0, "\xef\xbb\xbf{\"a\":": 0,
		"hello\n": 1, "{]": 1, "{}\n{]\n{": 1,
	} {
		report, err := importer.Import(context.Background(), model.FormatAuto, "log", strings.NewReader(text), options, func(*schema.Event) error { return nil })
		if err != nil || len(report.Problems) != problems {
			t.Errorf("%q: %v, %v", text, report.Problems, err)
		}
	}
}

// TestGrowingDocuments: programs that write their document again after each step. The documents of
// SWE-agent wait for the exit status, because the id of the session needs several answers.
func TestGrowingDocuments(t *testing.T) {
	t.Parallel()
	for file, member := range map[string]string{"testdata/openhands/trajectory.json": "", "testdata/swe-agent/v0.traj": "history", "testdata/swe-agent/v1.traj": "trajectory"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document := make(map[string]any)
		var steps []any
		if member == "" {
			err = json.Unmarshal(text, &steps)
		} else if err = json.Unmarshal(text, &document); err == nil {
			steps = document[member].([]any)
		}
		if err != nil {
			t.Fatal(file, err)
		}
		write := func(version any) []byte {
			text, err := json.Marshal(version, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		info := document["info"]
		delete(document, "info")
		var versions [][]byte
		for n := 1; n <= len(steps); n++ {
			if document[member] = steps[:n]; member == "" {
				versions = append(versions, write(steps[:n]))
			} else {
				versions = append(versions, write(document))
			}
		}
		if document["info"] = info; member != "" {
			versions = append(versions, write(document))
		}
		grow(t, file, versions)
	}
}
