package importer_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden imports each log of testdata and compares its facts and report
// with the file beside it. Run with -update and read the diff.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatal("no logs in testdata", err)
	}
	for _, log := range logs {
		t.Run(filepath.Base(log), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			got := importText(t, filepath.Base(log), text, testOptions())
			checkValid(t, got.events)
			rendered := render(got)
			golden := strings.TrimSuffix(log, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, rendered, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rendered, want) {
				t.Errorf("%s differs from the import:\n%s", golden, firstDifference(rendered, want))
			}
		})
	}
}

// render writes a fact as one line of ids and one of data, so that a diff
// shows what changed.
func render(got imported) []byte {
	var b bytes.Buffer
	for _, e := range got.events {
		fmt.Fprintf(&b, "%s #%d %s subject=%s\n", strings.TrimPrefix(e.Source, "urn:ctxledger:import:claude-code:"), *e.Sequence, e.EventType(), e.Subject)
		fmt.Fprintf(&b, "  %s %s", e.ID, e.Time.Format("15:04:05"))
		for _, f := range schema.CorrelationFields {
			if v := *f.Of(&e.Correlation); v != "" && f.Attribute != "tenant" && f.Attribute != "agent" && f.Attribute != "runtimeid" {
				fmt.Fprintf(&b, " %s=%s", f.Attribute, v)
			}
		}
		data := string(e.Data)
		data = data[strings.Index(data, `"metadata"`) : len(data)-1]
		fmt.Fprintf(&b, "\n  %s\n", data)
	}
	r := got.report
	problems := r.Problems
	r.Problems = nil
	fmt.Fprintf(&b, "\n%+v\n", r)
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	return b.Bytes()
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], append(w, strings.Repeat("\x00", 1))[min(i, len(w))])
		}
	}
	return "the golden file is longer"
}
