package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
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
	if !regexp.MustCompile(`ctxledger: http://127\.0\.0\.1:\d+/last\?since=\S+ shows the session`).MatchString(p.stderr.String()) {
		t.Errorf("no address of the session's page in %s", &p.stderr)
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

// talk sends a conversation of n messages to a model through a base URL and returns the answer.
func talk(t *testing.T, base string, n int) {
	t.Helper()
	var messages []string
	for i := range n {
		message := fmt.Sprintf(`{"role":"user","content":"question %d"}`, i)
		if i%2 == 1 {
			message = fmt.Sprintf(`{"role":"assistant","content":"answer %d"}`, i)
		}
		messages = append(messages, message)
	}
	body := `{"model":"gpt-5","messages":[` + strings.Join(messages, ",") + `]}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer of-the-test")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, text)
	}
}

// TestUpRecordsByBaseURL talks to a model through `up`, which is killed in the middle of the
// conversation. The ledger has each call and each item once, and /last leads to the session.
func TestUpRecordsByBaseURL(t *testing.T) {
	t.Parallel()
	needEngine(t)
	var answers []modelserver.Answer
	for _, text := range []string{"answer 1", "answer 3", "answer 5"} {
		answers = append(answers, modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(text)}, Usage: modelserver.Usage{Input: 50, Output: 1}})
	}
	server := modelserver.New(t, modelserver.Sequence(answers...))
	data, since := t.TempDir(), time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	upstream := []string{"--upstream", "local=" + server.URL}
	first, found := beginUp(t, data, upstream...)
	talk(t, found.Capture+"/local", 1)
	talk(t, found.Capture+"/local", 3)
	counts := func() string {
		out, stderr, code := ctxledger(t, "query", "--data", data, "-o", "csv", "--sql",
			`SELECT count(), uniqExact(session_id), sum(uncached_input), (SELECT count() FROM items FINAL), (SELECT count() FROM quarantine) FROM model_calls`)
		if code != cli.ExitDone {
			t.Fatal(stderr)
		}
		_, row, _ := strings.Cut(out, "\n")
		return row
	}
	await := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(startPatience); ; time.Sleep(50 * time.Millisecond) {
			got := counts()
			if strings.TrimSpace(got) == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the ledger has %s, want %s: calls, sessions, tokens, items, quarantined", got, want)
			}
		}
	}
	await("2,1,100,4,0")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done
	_, found = beginUp(t, data, upstream...)
	talk(t, found.Capture+"/local", 5)
	await("3,1,150,6,0")
	response, err := http.Get(found.Explorer + "last?since=" + since)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Request.URL.Path, "/s/") {
		t.Errorf("/last leads to %s, status %d", response.Request.URL, response.StatusCode)
	}
	later, err := http.Get(found.Explorer + "last?since=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
	defer later.Body.Close()
	if text, _ := io.ReadAll(later.Body); !strings.Contains(string(text), "No call is recorded yet") {
		t.Errorf("before the first call /last shows %s", text)
	}
}
