package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestARewrittenLogIsTold imports a log again after its program rewrote the first half, under the same
// record ids. The import names the log. The new facts are a telling of their own and count, the earlier
// ones stay, and nothing goes to quarantine. The calls count once, also after the log has grown and
// after a log was cut or begins in the middle.
func TestARewrittenLogIsTold(t *testing.T) {
	t.Parallel()
	data, log := t.TempDir(), filepath.Join(t.TempDir(), "log.jsonl")
	addresses := clitest.Up(t, data)
	record := func(n int) string {
		at := fmt.Sprintf(`"parentUuid":"u-%d","sessionId":"s-1","timestamp":"2026-11-01T10:%02d:00Z"`, n-1, n)
		if n == 0 {
			at = strings.Replace(at, `"u--1"`, "null", 1)
		}
		if n%2 == 0 {
			return fmt.Sprintf(`{"type":"user","uuid":"u-%d",%s,"message":{"role":"user","content":"text %d"}}`, n, at, n)
		}
		return fmt.Sprintf(`{"type":"assistant","uuid":"u-%d",%s,"message":{"role":"assistant","id":"msg_%d","model":"claude-x","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"text","text":"text %d"}]}}`, n, at, n, n)
	}
	imports := func(lines []string, args ...string) (stdout, stderr string) {
		t.Helper()
		if err := os.WriteFile(log, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := clitest.Run(t, append([]string{"import", "claude-code", log, "--data", data}, args...)...)
		if code != cli.ExitDone {
			t.Fatalf("the import ended with %d\n%s%s", code, stdout, stderr)
		}
		if list := clitest.Ask(t, data, "quarantine"); len(list) > 0 {
			t.Fatalf("%d facts are in quarantine, such as %v", len(list), list[0])
		}
		return stdout, stderr
	}
	calls := func(want int) {
		t.Helper()
		if usage := clitest.Ask(t, data, "session-usage"); len(usage) != 1 || fmt.Sprint(usage[0]["api_call_count"]) != fmt.Sprint(want) {
			t.Errorf("the usage is %v, want %d calls", usage, want)
		}
	}
	const rewritten = "was rewritten after an import"
	var lines []string
	for n := range 12 {
		lines = append(lines, record(n))
	}
	if _, said := imports(lines); strings.Contains(said, rewritten) {
		t.Errorf("the first import said %s", said)
	}
	calls(6)
	for n := range 6 {
		lines[n] = strings.ReplaceAll(lines[n], fmt.Sprintf(`"text %d"`, n), fmt.Sprintf(`"other words %d"`, n))
	}
	lines[1] = strings.Replace(lines[1], `"output_tokens":2`, `"output_tokens":9`, 1)
	if _, said := imports(lines); !strings.Contains(said, log+" "+rewritten+", first in line 1:") {
		t.Errorf("the import of the rewritten log said %s", said)
	}
	calls(6)
	told := clitest.Ask(t, data, "tellings")
	sources := make(map[string]int)
	for _, row := range told {
		if row["counts"] == true {
			sources[fmt.Sprint(row["source"])]++
		}
	}
	if len(told) != 12 || len(sources) != 1 {
		t.Errorf("%d records of calls, those of %v count", len(told), sources)
	}
	for _, row := range told { // the two records of the first call contradict each other
		if differs := fmt.Sprint(row["differs"]); (differs == "[output]") != (row["call"] == "msg_1" && row["counts"] == false) {
			t.Errorf("a record of %s differs in %s", row["call"], differs)
		}
	}
	for _, query := range []string{"tellings", "fidelity"} {
		page := clitest.Page(t, addresses.Explorer+"q/"+query+"?run=1")
		if !strings.Contains(page, "msg_1") || !strings.Contains(page, ">output<") {
			t.Errorf("the page of %s does not name the difference", query)
		}
	}
	if stdout, said := imports(lines); !strings.Contains(stdout, "everything was there already") || strings.Contains(said, rewritten) {
		t.Errorf("the same again said %s%s", stdout, said)
	}
	imports(lines, "--again")
	lines = append(lines, record(12), record(13))
	if stdout, _ := imports(lines); !strings.Contains(stdout, " 5 new events, 0 that were there already") {
		t.Errorf("the log that has grown said %s", stdout)
	}
	calls(7)
	imports(lines[:5]) // cut
	calls(7)
	imports(lines[9:]) // rotated
	calls(7)
	imports(append(lines[:10:10], strings.ReplaceAll(record(10), `"u-10"`, `"v-10"`), strings.NewReplacer(`"u-11"`, `"v-11"`, `"u-10"`, `"v-10"`, "msg_11", "msg_v").Replace(record(11)))) // cut, and written further
	calls(8)
}
