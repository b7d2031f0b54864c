package wire_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestEventsOverHTTP posts events to `up` and to `serve`. Both are in the ledger, the repeat of
// one counts once, and neither a dry run nor a page of another site stores anything.
func TestEventsOverHTTP(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := filepath.Join(t.TempDir(), "data")
	found := clitest.Up(t, data)
	server := clitest.Command("serve", "--data", data, "--listen", "127.0.0.1:0")
	server.Env = append(os.Environ(), "CTXLEDGER_CLICKHOUSE_DSN="+found.ReaderDSN, "CTXLEDGER_NATS_URL="+found.NATSURL)
	r, w := io.Pipe()
	server.Stdout = w
	server.Begin(t)
	printed := make([]byte, 200)
	n, err := io.ReadAtLeast(r, printed, 60)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	_, rest, ok := strings.Cut(string(printed[:n]), "events    ")
	served, _, _ := strings.Cut(rest, "\n")
	if err != nil || !ok {
		t.Fatalf("serve printed %q: %v", printed[:n], err)
	}
	post := func(address, event string, headers ...string) (int, string) {
		t.Helper()
		response, text := clitest.Post(t, address, []byte(event), append([]string{"Content-Type", "application/cloudevents+json"}, headers...)...)
		return response.StatusCode, string(text)
	}
	for _, c := range []struct {
		address, want string
		status        int
	}{
		{strings.TrimSuffix(served, "/v1/events") + "/sql?q=SELECT+41%2B1+AS+answer", "<td>42</td>", 200},
		{strings.TrimSuffix(served, "/v1/events") + "/sql?q=" + url.QueryEscape("SELECT '<script>x</script>'"), "&lt;script&gt;x", 200},
		{strings.TrimSuffix(served, "/v1/events") + "/sql?q=DROP+TABLE+events", `role="alert"`, 200},
		{strings.TrimSuffix(served, "/v1/events") + "/sql?q=INSERT+INTO+prices+VALUES+()", `role="alert"`, 200},
		{strings.TrimSuffix(served, "/v1/events") + "/sql", "session_summary", 200},
		{found.Explorer + "sql?q=SELECT+1", "query --sql", 403},
	} {
		if response, text := clitest.Get(t, c.address); response.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.600s", c.address, response.StatusCode, text)
		}
	}
	named := func(id string) string {
		return strings.Replace(strings.TrimSpace(clitest.OneEvent), `"id":"`, `"id":"`+id, 1)
	}
	for _, c := range []struct {
		address, event string
		headers        []string
		status         int
	}{
		{found.Events, named("up-"), nil, 200},
		{served, named("serve-"), nil, 200},
		{served, named("up-"), nil, 200},
		{found.Events, strings.Replace(named("up-"), "file_excerpt", "memory", 1), nil, 200}, // another event with this id: the projector quarantines it
		{found.Events + "?dry_run", named("dry-"), nil, 200},
		{found.Events, named("cross-"), []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{found.Events, `{"id":1}`, nil, 422},
	} {
		if status, text := post(c.address, c.event, c.headers...); status != c.status {
			t.Errorf("%s %.40s: %d %s", c.address, c.event, status, text)
		}
	}
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		stdout, stderr, code := clitest.Run(t, "query", "-o", "csv", "--data", data, "--sql",
			"SELECT arrayStringConcat(arraySort(groupArray(substring(event_id, 1, 2))), ' ') AS found FROM events")
		if code == cli.ExitDone && strings.Contains(stdout, "se up") {
			if strings.Contains(stdout, "se up up") || strings.Contains(stdout, "dr") || strings.Contains(stdout, "cr") {
				t.Errorf("the ledger has %s", stdout)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger has %s: %s", stdout, stderr)
		}
	}
	reported := map[string]string{found.Events: "span", served: "event"}
	for address, kind := range reported {
		path, file := "/v1/traces", "genai-span.json"
		if kind == "event" {
			path, file = "/v1/logs", "genai-event.json"
		}
		body := clitest.ReadRepository(t, "producer", "capture", "otlp", "testdata", file)
		if status, text := post(strings.Replace(address, "/v1/events", path, 1), body, "Content-Type", "application/json"); status != 200 {
			t.Errorf("OTLP to %s: %d %s", address, status, text)
		}
	}
	const calls = `SELECT arrayStringConcat(arraySort(groupArray(concat(session_id, ' ', JSONExtractString(data, 'fidelity')))), '|') AS found
		FROM events WHERE event_type = 'context.usage.recorded'`
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		rows := clitest.Ask(t, data, "--sql", calls)
		if rows[0]["found"] == "conv-1 reported|trace_5b8efff798038103d269b633813fc60c reported" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger has the calls %v", rows)
		}
	}
	receipts := strings.Replace(found.Events, "/v1/events", "/v1/receipts", 1) + "?source=urn:test"
	response, err := http.Get(receipts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if got := string(text); err != nil || !strings.Contains(got, `"outcome":"quarantined"`) || !strings.Contains(got, `"id":"up-e-1"`) || !strings.Contains(got, `"code":"id_conflict"`) {
		t.Errorf("the receipts are %s: %v", got, err)
	}
	stdout, stderr, code := clitest.Run(t, "tail", "--quarantined", "--no-follow", "--data", data)
	if code != cli.ExitDone || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "id_conflict") || !strings.Contains(stdout, "urn:test  up-e-1") {
		t.Errorf("tail ended with %d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := clitest.Run(t, "tail", "--quarantined", "--no-follow", "-o", "json", "--tenant", "default", "--data", data); code != cli.ExitDone || !strings.Contains(stdout, `"event_id":"up-e-1"`) {
		t.Errorf("tail ended with %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := clitest.Run(t, "tail", "--quarantined", "--session", "s-1", "--data", data); code != cli.ExitUsage || !strings.Contains(stderr, "--session") {
		t.Errorf("tail ended with %d: %s", code, stderr)
	}
	if stdout, _, _ := clitest.Run(t, "connect", "env", "--data", data); !strings.Contains(stdout, "export CTXLEDGER_URL="+strings.TrimSuffix(found.Events, "/v1/events")) {
		t.Errorf("connect env does not name the address: %s", stdout)
	}
}
