package importer_test

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

const codexHead = `{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"ID","timestamp":"2026-03-01T10:00:00.000Z","base_instructions":{"text":"be brief"}}}` + "\n"

func codexMessage(at, text string) string {
	return `{"timestamp":"` + at + `","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}}` + "\n"
}

// TestNamesOfRecords: lines with similar times get different names, and none of their facts is
// lost.
func TestNamesOfRecords(t *testing.T) {
	head := func(id string) string { return strings.Replace(codexHead, "ID", id, 1) }
	for name, c := range map[string]struct {
		log   string
		items int
	}{
		"within a millisecond": {head("a") + codexMessage("2026-03-01T10:00:01.0001Z", "1") + codexMessage("2026-03-01T10:00:01.0002Z", "2") + codexMessage("2026-03-01T10:00:01.0002Z", "3"), 4},
		"in another zone":      {head("a") + codexMessage("2026-03-01T10:00:01Z", "1") + codexMessage("2026-03-01T11:00:01+01:00", "2"), 3},
		"back and forth":       {head("a") + codexMessage("2026-03-01T10:00:02Z", "1") + codexMessage("2026-03-01T10:00:01Z", "2") + codexMessage("2026-03-01T10:00:01Z", "3") + codexMessage("2026-03-01T10:00:02Z", "4"), 5},
		"a session again":      {head("a") + codexMessage("2026-03-01T10:00:01Z", "1") + head("b") + codexMessage("2026-03-01T10:00:02Z", "2") + strings.Replace(head("a"), "brief", "long", 1), 5},
	} {
		t.Run(name, func(t *testing.T) {
			got := importAs(t, model.FormatCodex, "f", []byte(c.log), testOptions())
			checkValid(t, got.events)
			items := 0
			for _, e := range got.events {
				if e.EventType() == schema.TypeItemAdded {
					items++
				}
			}
			equal(t, "items", items, c.items)
		})
	}
}

// TestNegativeDepth: a negative depth of a sub-agent is unknown.
func TestNegativeDepth(t *testing.T) {
	log := strings.Replace(codexHead, `"base_instructions"`, `"source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":-1}}},"base_instructions"`, 1)
	got := importAs(t, model.FormatCodex, "f", []byte(log), testOptions())
	checkValid(t, got.events)
	if len(got.events) == 0 || len(got.report.Problems) != 1 {
		t.Errorf("%d events, problems %v", len(got.events), got.report.Problems)
	}
}

// TestRefusedIDs: a problem names each id that cannot be an attribute. Facts that do not need the
// id are imported.
func TestRefusedIDs(t *testing.T) {
	claude := `{"type":"user","uuid":"u-1","sessionId":"s-1","agentId":"AGENT","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"hello"}}`
	openhands := `{"instance_id":"INSTANCE","history":[{"id":0,"timestamp":"2025-06-01T12:00:00","source":"agent","action":"run","args":{"command":"ls"},` +
		`"tool_call_metadata":{"function_name":"bash","tool_call_id":"TOOL","model_response":{"id":"RESPONSE"}}}]}`
	swe := `{"environment":"swe","trajectory":[],"history":[{"role":"system","content":"x","agent":"main"},{"role":"user","content":"y","agent":"AGENT"},` +
		`{"role":"assistant","content":"z","agent":"main","tool_calls":[{"id":"TOOL","function":{"name":"f","arguments":"{}"}}]}],"replay_config":{"problem_statement":{"id":"PROBLEM"}}}`
	codex := `{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"ID","forked_from_id":"FORK","source":{"subagent":{"thread_spawn":{"parent_thread_id":"PARENT","depth":1}}}}}` + "\n" +
		`{"timestamp":"2026-03-01T10:00:01.000Z","type":"turn_context","payload":{"turn_id":"TURN"}}` + "\n" +
		`{"timestamp":"2026-03-01T10:00:02.000Z","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"CALL"}}`
	for _, c := range []struct {
		format        model.Format
		log           string
		place, member string
		imported      bool
	}{
		{model.FormatClaudeCode, claude, "AGENT", "agentId", false},
		{model.FormatClaudeCode, claude, "s-1", "sessionId", false},
		{model.FormatCodex, codex, "ID", "the session's id", false},
		{model.FormatCodex, codex, "FORK", "forked_from_id", false},
		{model.FormatCodex, codex, "PARENT", "parent_thread_id", false},
		{model.FormatCodex, codex, "TURN", "turn_id", true},
		{model.FormatCodex, codex, "CALL", "call_id", true},
		{model.FormatSWEAgent, swe, "AGENT", "agent", true},
		{model.FormatSWEAgent, swe, "TOOL", "tool call", true},
		{model.FormatSWEAgent, swe, "PROBLEM", "problem's id", true},
		{model.FormatOpenHands, openhands, "INSTANCE", "instance_id", true},
		{model.FormatOpenHands, openhands, "TOOL", "tool_call_id", true},
		{model.FormatOpenHands, openhands, "RESPONSE", "response", true},
	} {
		for _, hostile := range []string{`x\u0000y`, `x\u007f`, `x\u0085`, `\"`, strings.Repeat("x", 200)} {
			got := importAs(t, c.format, "f", []byte(strings.Replace(c.log, `"`+c.place+`"`, `"`+hostile+`"`, 1)), testOptions())
			checkValid(t, got.events)
			if (len(got.events) > 0) != c.imported {
				t.Errorf("%s, %s %s: %d events", c.format, c.member, hostile, len(got.events))
			}
			found := false
			for _, p := range got.report.Problems {
				found = found || p.Reason == model.ReasonBadID && strings.Contains(p.Detail, c.member)
			}
			if !found {
				t.Errorf("%s, %s %s: problems %v", c.format, c.member, hostile, got.report.Problems)
			}
		}
	}
}
