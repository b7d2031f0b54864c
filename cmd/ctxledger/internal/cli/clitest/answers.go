package clitest

import (
	"os"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
)

// Answers is what expected.json counts of one Claude Code log.
type Answers struct {
	SessionIDs []string         `json:"session_ids"`
	Usage      map[string]any   `json:"usage_deduped"`
	ToolUses   float64          `json:"tool_use_ids"`
	Results    float64          `json:"tool_result_ids"`
	Unanswered float64          `json:"unanswered_tool_uses"`
	Tools      map[string]any   `json:"tools"`
	Summaries  float64          `json:"compact_summaries"`
	Boundaries []map[string]any `json:"boundaries"`
}

// ExpectedAnswers reads the counted answers to the transcripts, by the id of the session.
func ExpectedAnswers(t *testing.T) map[string]Answers {
	t.Helper()
	text, err := os.ReadFile(Shared(t, "transcripts", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		ClaudeCode map[string]Answers `json:"claude_code"`
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
func answersOf(t *testing.T, data, session string) Answers {
	t.Helper()
	query := func(name string) []map[string]any { return Ask(t, data, name, "--param", "session_id="+session) }
	got := Answers{SessionIDs: []string{session}, Tools: make(map[string]any)}
	if usage := query("session-usage"); len(usage) == 1 {
		got.Usage = Pick(usage[0], "api_call_count", "input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
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

// Pick returns some values of a row.
func Pick(row map[string]any, names ...string) map[string]any {
	picked := make(map[string]any)
	for _, name := range names {
		picked[name] = row[name]
	}
	return picked
}

// CheckAnswers compares all that is counted for every session of want.
func CheckAnswers(t *testing.T, data string, want map[string]Answers) {
	t.Helper()
	for file, want := range want {
		got := answersOf(t, data, want.SessionIDs[0])
		for i := range reflect.TypeFor[Answers]().NumField() {
			name := reflect.TypeFor[Answers]().Field(i).Name
			g, w := reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface()
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %s:\n got %v\nwant %v", file, name, g, w)
			}
		}
	}
}

// Everything is what another import must not change: the counts of all facts, and the answers that are
// compared for each session, of all sessions at once.
func Everything(t *testing.T, data string) (rows []map[string]any) {
	t.Helper()
	for _, name := range []string{
		"sessions", "event-types", "session-usage", "tool-use", "tools-by-name", "summaries", "compaction-boundaries",
		"reported-totals", "records-by-type",
	} {
		rows = append(rows, Ask(t, data, name)...)
	}
	return rows
}
