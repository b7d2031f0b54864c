package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// TestRunClaudeCode starts the real Claude Code behind `run`, which starts the ledger. Then the
// ledger has each call of the model server once, with its usage.
func TestRunClaudeCode(t *testing.T) {
	t.Parallel()
	needEngine(t)
	usage := modelserver.Usage{Input: 100, CacheRead: 40, CacheWrite5m: 7, Output: 9}
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"echo one","description":"d"}`)}, Usage: usage},
		modelserver.Answer{Fault: modelserver.Fault{Status: 529}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("one is done")}, Usage: usage},
	))
	client, data := realclient.ClaudeCode(t, server.URL), t.TempDir()
	p := command("run", "--data", data, "--only-providers", "--host", "api.anthropic.com="+server.URL, "--",
		client.Program, "-p", "echo one", "--allowedTools", "Bash", "--output-format", "json")
	p.Dir, p.Env = client.Dir, slices.DeleteFunc(slices.Clone(client.Env), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
	if code := p.begin(t).code(t, startPatience); code != cli.ExitDone || !strings.Contains(p.stdout.String(), "one is done") {
		t.Fatalf("exit code %d\n%s%s", code, &p.stdout, &p.stderr)
	}
	calls := server.Calls()
	if want := fmt.Sprintf("ctxledger recorded %d calls", len(calls)); !strings.Contains(p.stderr.String(), want) {
		t.Errorf("want %q in %s", want, &p.stderr)
	}
	up(t, data)
	const sql = `SELECT countIf(output > 0) AS answered, count() AS calls, sum(window_tokens) AS tokens, uniqExact(session_id) AS sessions FROM model_calls`
	want := fmt.Sprintf(`"answered":2,"calls":%d,"tokens":294,"sessions":1`, len(calls))
	for deadline := time.Now().Add(startPatience); ; time.Sleep(50 * time.Millisecond) {
		out, stderr, _ := ctxledger(t, "query", "--data", data, "-o", "json", "--sql", sql)
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(out, " ", ""), "\n", ""), want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the ledger has %s%s, want %s", out, stderr, want)
		}
	}
	if out, _, code := ctxledger(t, "quarantine", "list", "--data", data, "-o", "json"); code != cli.ExitDone || strings.Contains(out, "code") {
		t.Errorf("quarantined: %s", out)
	}
}
