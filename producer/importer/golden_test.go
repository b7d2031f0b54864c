package importer_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden imports each log of testdata and compares its facts and report with the golden file
// next to the log. Run with -update and read the diff.
func TestGolden(t *testing.T) {
	for log, format := range logs(t) {
		t.Run(filepath.Base(log), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			got := importAs(t, format, filepath.Base(log), text, testOptions())
			checkValid(t, got.events)
			rendered := render(got)
			golden := strings.TrimSuffix(log, filepath.Ext(log)) + ".golden"
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

// logs lists the logs of testdata. Each format except Claude Code has a separate folder.
func logs(tb testing.TB) map[string]model.Format {
	tb.Helper()
	list := make(map[string]model.Format)
	for _, f := range model.Formats()[1:] {
		folder := filepath.Join("testdata", string(f))
		if f == model.FormatClaudeCode {
			folder = "testdata"
		}
		found := 0
		for _, pattern := range []string{"*.jsonl", "*.json", "*.traj"} {
			paths, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				tb.Fatal(err)
			}
			for _, path := range paths {
				list[path] = f
				found++
			}
		}
		if found == 0 {
			tb.Errorf("no logs of %s in testdata", f)
		}
	}
	return list
}

// render writes a fact as one line of ids and one line of data, for readable diffs.
func render(got imported) []byte {
	var b bytes.Buffer
	for _, e := range got.events {
		fmt.Fprintf(&b, "%s #%d %s subject=%s\n", strings.TrimPrefix(strings.TrimPrefix(toldAs(e).Log, telling.ImportSource), "claude-code:"), *e.Sequence, e.EventType(), e.Subject)
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
	b.WriteString("\n")
	report := reflect.ValueOf(got.report)
	for i := range report.NumField() {
		if f := report.Type().Field(i); f.IsExported() && f.Name != "Problems" {
			fmt.Fprintf(&b, "%s:%+v ", f.Name, report.Field(i))
		}
	}
	b.WriteString("\n")
	for _, p := range got.report.Problems {
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
