package wire_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/schema"
)

// TestServerAndPublishAgree generates 1,000 boundary cases from the golden events of every
// type, and gives each of them to `ctxledger publish` and to the gateway. Both find the same
// violations, or both store the event. The SDKs report these verdicts. That JSON Schema agrees is a
// property of schema.TestSchemasAgreeWithValidate.
func TestServerAndPublishAgree(t *testing.T) {
	admin, _, _ := clitest.TenantNode(t, nil)
	clitest.StreamsOf(t, admin)
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	const cases = 1000
	lines := boundaryCases(t, cases)
	file := filepath.Join(t.TempDir(), "cases.ndjson")
	if err := os.WriteFile(file, append(bytes.Join(lines, []byte("\n")), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := clitest.Run(t, "publish", file, "--data", t.TempDir())
	if code != cli.ExitRefused {
		t.Fatalf("publish ended with %d: %.600s", code, stderr)
	}
	published := make([][]string, cases)
	for line := range strings.Lines(stderr) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "line ")
		number, violation, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); ok && err == nil {
			published[n-1] = append(published[n-1], strings.ReplaceAll(violation, `\u0007`, "\u0007")) // a terminal gets it escaped
		}
	}

	nc, err := nats.Connect(admin)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gateway.New(gateway.DefaultConfig(js))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	codes := make(map[schema.Code]bool)
	for i, line := range lines {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, gateway.Path, bytes.NewReader(line))
		request.Host = "localhost"
		request.Header.Set("Content-Type", "application/cloudevents+json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		var answer gateway.Answer
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || len(answer.Events) != 1 {
			t.Fatalf("case %d: %d %s: %v", i, recorder.Code, recorder.Body, err)
		}
		var found []string
		for _, v := range answer.Events[0].Violations {
			found = append(found, v.Error())
			codes[v.Code] = true
		}
		if len(found) > 0 {
			refused++
		}
		stored := recorder.Code == http.StatusOK && answer.Events[0].Outcome == gateway.Stored
		if !slices.Equal(found, published[i]) || stored != (len(published[i]) == 0) {
			t.Errorf("case %d: %.300s\npublish: %v\nserver:  %d %v", i, line, published[i], recorder.Code, found)
		}
	}
	t.Logf("%d of %d cases were refused, for %v", refused, cases, slices.Sorted(maps.Keys(codes)))
	if refused < cases/4 || refused > cases*9/10 || len(codes) < 12 {
		t.Errorf("%d of %d cases were refused, for %d codes: the cases are one-sided", refused, cases, len(codes))
	}
	checkSDKs(t, handler, lines)
}

// verdicts is a gateway that keeps the violations of each refused event, by its id.
type verdicts struct {
	http.Handler
	mu    sync.Mutex // guards the fields below
	found map[string][]string
	taken int
}

func (v *verdicts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	v.Handler.ServeHTTP(recorder, r)
	var answer gateway.Answer
	_ = json.Unmarshal(recorder.Body.Bytes(), &answer)
	v.mu.Lock()
	for _, e := range answer.Events {
		if e.Outcome == gateway.Refused {
			v.found[e.ID] = sentences(e.Violations)
		} else {
			v.taken++
		}
	}
	v.mu.Unlock()
	maps.Copy(w.Header(), recorder.Header())
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

func sentences(found schema.Violations) (list []string) {
	for _, v := range found {
		list = append(list, v.Error())
	}
	return list
}

// checkSDKs gives the data of the cases to the SDK of each language. It reports what the server
// refuses, event by event, and nothing else.
func checkSDKs(t *testing.T, handler http.Handler, lines [][]byte) {
	t.Helper()
	var facts bytes.Buffer
	cases := 0
	for _, line := range lines {
		var event struct {
			Type string         `json:"type"`
			Data map[string]any `json:"data"`
		}
		if json.Unmarshal(line, &event) != nil || event.Data == nil {
			continue // no SDK can send it
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(event.Type, "dev.ctxledger."), ".v1")
		text, err := json.Marshal(map[string]any{"type": kind, "data": event.Data}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		facts.Write(append(text, '\n'))
		cases++
	}
	for i, program := range []string{"testdata/cases.mjs", "testdata/cases.py"} {
		sdk, judge := clitest.SDKFolders[i], &verdicts{Handler: handler, found: make(map[string][]string)}
		server := httptest.NewServer(judge)
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, sdk.To), os.DirFS(clitest.SDKPath(sdk.From))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(clitest.SDKPath(program))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(program)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), sdk.Interpreter, filepath.Base(program), server.URL)
		var stderr bytes.Buffer
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(facts.Bytes()), &stderr
		out, err := cmd.Output()
		server.Close()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, &stderr)
		}
		reported := make(map[string][]string)
		for line := range bytes.Lines(out) {
			var refusal struct {
				ID         string            `json:"id"`
				Violations schema.Violations `json:"violations"`
			}
			if err := json.Unmarshal(line, &refusal); err != nil {
				t.Fatalf("%s printed %s: %v", program, line, err)
			}
			reported[refusal.ID] = sentences(refusal.Violations)
		}
		if !maps.EqualFunc(reported, judge.found, slices.Equal) {
			t.Errorf("%s reports %d of %d refused events, or other violations", program, len(reported), len(judge.found))
		}
		if judge.taken+len(judge.found) != cases || len(judge.found) < cases/4 || judge.taken < cases/10 {
			t.Errorf("%s: %d events were taken and %d refused, of %d", program, judge.taken, len(judge.found), cases)
		}
	}
}

// boundaryCases returns events of every type, of which most have one or two faults.
func boundaryCases(t *testing.T, n int) [][]byte {
	t.Helper()
	golden, err := filepath.Glob(clitest.Repository("schema", "golden", "*.json"))
	if err != nil || len(golden) < 20 {
		t.Fatalf("%d golden events: %v", len(golden), err)
	}
	r := rand.New(rand.NewPCG(28, 1))
	var lines [][]byte
	for i := range n {
		text, err := os.ReadFile(golden[i%len(golden)])
		if err != nil {
			t.Fatal(err)
		}
		var event map[string]any
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(golden[i%len(golden)], "erasure.applied") || strings.Contains(golden[i%len(golden)], "redaction.revoked") {
			event["type"] = "dev.ctxledger.context.item.removed.v1" // the operator's facts are not the server's
		}
		delete(event, "tenant")
		event["id"] = fmt.Sprint("case-", i)
		for range r.IntN(3) {
			spoil(r, event)
		}
		line, err := json.Marshal(event, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, spoilText(r, line))
	}
	return lines
}

// spoil changes one member of an event to a value at or beyond a boundary.
func spoil(r *rand.Rand, event map[string]any) {
	values := []any{
		nil, "", " ", 0, -1, 1.5, "x", true, []any{}, map[string]any{}, strings.Repeat("a", schema.MaxIDBytes), strings.Repeat("a", schema.MaxIDBytes+1),
		"\u0007", "\uFFFE", "2026-01-02T03:04:05z", "2026-01-02", time.Now().Add(time.Minute).UTC().Format(time.RFC3339), time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
		int64(9007199254740993), []any{"a", "a"}, []any{map[string]any{}}, "completed", "approved",
	}
	value := values[r.IntN(len(values))]
	if r.IntN(3) == 0 {
		attributes := []string{"id", "source", "type", "time", "subject", "specversion", "dataschema", "datacontenttype", "sessionid", "turnid", "runtimeid", "sequence", "recordedtime", "traceparent", "vendor", "BadName", "causationid"}
		set(r, event, attributes[r.IntN(len(attributes))], value)
		return
	}
	data, ok := event["data"].(map[string]any)
	if !ok {
		return
	}
	switch r.IntN(8) {
	case 0:
		data[[]string{"status", "turn_status", "tool_status", "approved", "granted", "final_answer", "turn_id", "session_id", "unknown"}[r.IntN(9)]] = value
	case 1:
		data["metadata"] = map[string]any{"big": strings.Repeat("x", schema.MaxEventBytes-500+r.IntN(1000))}
	default:
		names := slices.Sorted(maps.Keys(data))
		if len(names) > 0 {
			set(r, data, names[r.IntN(len(names))], value)
		}
	}
}

// set changes, removes or goes into a member.
func set(r *rand.Rand, object map[string]any, name string, value any) {
	switch inner := object[name].(type) {
	case map[string]any:
		if names := slices.Sorted(maps.Keys(inner)); len(names) > 0 && r.IntN(2) == 0 {
			set(r, inner, names[r.IntN(len(names))], value)
			return
		}
	case []any:
		if len(inner) > 0 && r.IntN(2) == 0 {
			if element, ok := inner[r.IntN(len(inner))].(map[string]any); ok {
				if names := slices.Sorted(maps.Keys(element)); len(names) > 0 {
					set(r, element, names[r.IntN(len(names))], value)
					return
				}
			}
		}
	}
	if r.IntN(4) == 0 {
		delete(object, name)
		return
	}
	object[name] = value
}

// spoilText damages the text of one event of twenty.
func spoilText(r *rand.Rand, line []byte) []byte {
	switch r.IntN(60) {
	case 0:
		return line[:r.IntN(len(line)-1)+1]
	case 1:
		return append([]byte(`{"id":"twice",`), line[1:]...)
	case 2:
		return bytes.Replace(line, []byte(`"data":{`), []byte(`"data":{"item_id":"a","item_id":"b",`), 1)
	}
	return line
}
