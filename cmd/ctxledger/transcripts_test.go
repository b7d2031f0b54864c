package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector"
)

// answers is what expected.json counts of one Claude Code log.
type answers struct {
	SessionIDs []string         `json:"session_ids"`
	Usage      map[string]any   `json:"usage_deduped"`
	ToolUses   float64          `json:"tool_use_ids"`
	Results    float64          `json:"tool_result_ids"`
	Unanswered float64          `json:"unanswered_tool_uses"`
	Tools      map[string]any   `json:"tools"`
	Summaries  float64          `json:"compact_summaries"`
	Boundaries []map[string]any `json:"boundaries"`
}

func expectedAnswers(t *testing.T) map[string]answers {
	t.Helper()
	text, err := os.ReadFile(shared(t, "transcripts", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		ClaudeCode map[string]answers `json:"claude_code"`
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	if len(expected.ClaudeCode) == 0 {
		t.Fatal("expected.json counts no Claude Code log")
	}
	for _, a := range expected.ClaudeCode {
		for _, b := range a.Boundaries {
			for _, field := range []string{"trigger", "preTokens", "logicalParentUuid", "tokensSaved", "compactedToolIds"} {
				if _, ok := b[field]; !ok {
					b[field] = nil // what the log does not say is unknown
				}
			}
		}
	}
	return expected.ClaudeCode
}

// answersOf asks the named queries, and nothing else, about one session.
func answersOf(t *testing.T, data, session string) answers {
	t.Helper()
	query := func(name string) []map[string]any { return askCLI(t, data, name, "--param", "session_id="+session) }
	got := answers{SessionIDs: []string{session}, Tools: make(map[string]any)}
	if usage := query("session-usage"); len(usage) == 1 {
		got.Usage = pick(usage[0], "api_call_count", "input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
	}
	if tools := query("tool-use"); len(tools) == 1 {
		got.ToolUses, _ = tools[0]["tool_use_ids"].(float64)
		got.Results, _ = tools[0]["tool_result_ids"].(float64)
		got.Unanswered, _ = tools[0]["unanswered_tool_uses"].(float64)
	}
	for _, tool := range query("tools-by-name") {
		got.Tools[tool["tool"].(string)] = tool["calls"]
	}
	for _, summary := range query("summaries") {
		got.Summaries, _ = summary["compact_summaries"].(float64)
	}
	for _, b := range query("compaction-boundaries") {
		got.Boundaries = append(got.Boundaries, map[string]any{
			"line": b["line"], "kind": b["kind"], "uuid": b["uuid"], "timestamp": b["timestamp"], "trigger": b["trigger"],
			"preTokens": b["pre_tokens"], "logicalParentUuid": b["logical_parent_uuid"], "tokensSaved": b["tokens_saved"],
			"compactedToolIds": b["compacted_tool_ids"], "prev_call_window": b["prev_call_window"],
			"next_call": map[string]any{
				"message_id": b["next_call_id"], "window": b["next_call_window"], "cache_read": b["next_call_cache_read"],
				"recomputed": b["next_call_recomputed"],
			},
		})
	}
	return got
}

func pick(row map[string]any, names ...string) map[string]any {
	picked := make(map[string]any)
	for _, name := range names {
		picked[name] = row[name]
	}
	return picked
}

// checkAnswers compares all that is counted for every session of want.
func checkAnswers(t *testing.T, data string, want map[string]answers) {
	t.Helper()
	for file, want := range want {
		got := answersOf(t, data, want.SessionIDs[0])
		for i := range reflect.TypeFor[answers]().NumField() {
			name := reflect.TypeFor[answers]().Field(i).Name
			g, w := reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface()
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %s:\n got %v\nwant %v", file, name, g, w)
			}
		}
	}
}

// everything is what a second import must not change: the counts of all facts.
func everything(t *testing.T, data string) []map[string]any {
	t.Helper()
	return append(askCLI(t, data, "sessions"), askCLI(t, data, "event-types")...)
}

func TestTranscriptsGiveTheCountedAnswers(t *testing.T) {
	t.Parallel()
	want, logs := expectedAnswers(t), shared(t, "transcripts", "claude-code")
	data := t.TempDir()
	found := up(t, data)

	stdout, stderr, code := ctxledger(t, "import", "claude-code", logs, "--data", data)
	if code != exitDone || stderr != "" || !strings.Contains(stdout, " 0 that were there already, 0 in quarantine") {
		t.Fatalf("import ended with %d\n%s%s", code, stdout, stderr)
	}
	checkAnswers(t, data, want)
	first := everything(t, data)

	// The stream recognises what it has just stored by its message id.
	stdout, stderr, code = ctxledger(t, "import", "claude-code", logs, "--data", data)
	if code != exitDone || stderr != "" || !strings.Contains(stdout, "everything was there already") {
		t.Fatalf("the second import ended with %d\n%s%s", code, stdout, stderr)
	}
	checkAnswers(t, data, want)

	// Once it has forgotten, the ledger recognises every event by its identity.
	forget(t, found.NATSURL)
	stdout, stderr, code = ctxledger(t, "import", "claude-code", logs, "--data", data)
	if code != exitDone || stderr != "" || !strings.Contains(stdout, "in the tables: 0 new events, ") || strings.Contains(stdout, ", 0 that were there") {
		t.Fatalf("the third import ended with %d\n%s%s", code, stdout, stderr)
	}
	checkAnswers(t, data, want)
	if again := everything(t, data); !reflect.DeepEqual(again, first) {
		t.Errorf("importing again changed the facts:\n got %v\nwant %v", again, first)
	}
	if repeats := askCLI(t, data, "duplicates"); len(repeats) == 0 {
		t.Error("the duplicates query lists none of the repeats")
	}
}

// openStream connects to the events of an instance for the length of the test.
func openStream(t *testing.T, natsURL string) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	nc, err := nats.Connect(natsURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), projector.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	return js, stream
}

// forget makes the stream forget the message ids that it has seen.
func forget(t *testing.T, natsURL string) {
	t.Helper()
	js, stream := openStream(t, natsURL)
	config := stream.CachedInfo().Config
	window := config.Duplicates
	config.Duplicates = 100 * time.Millisecond
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * config.Duplicates)
	config.Duplicates = window
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}
