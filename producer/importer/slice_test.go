package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// factsOf returns the facts of one type, in order.
func factsOf[F schema.Fact](t *testing.T, got imported) (list []F) {
	t.Helper()
	for _, e := range got.events {
		if f, ok := decode(t, e).(F); ok {
			list = append(list, f)
		}
	}
	return list
}

// TestMessagesBeforeSWEAgent11: the messages of a step are the input of the next one. The stub in
// the messages of step 1 is an elision before step 2, not before step 1.
func TestMessagesBeforeSWEAgent11(t *testing.T) {
	t.Parallel()
	message := func(role, text string) string {
		return fmt.Sprintf(`{"role":%q,"content":%q,"agent":"main","message_type":"observation"}`, role, text)
	}
	system, task := message("system", "You fix."), message("user", "The task.")
	a0, o0 := message("assistant", "Answer 0."), message("user", strings.Repeat("observation zero ", 20))
	a1, o1 := message("assistant", "Answer 1."), message("user", "observation one")
	a2, o2 := message("assistant", "Answer 2."), message("user", "observation two")
	stub := message("user", "Old output omitted (20 lines)")
	step := func(n int, messages ...string) string {
		return fmt.Sprintf(`{"action":"a%d","observation":"o","response":"Answer %d.","messages":[%s]}`, n, n, strings.Join(messages, ","))
	}
	steps := strings.Join([]string{
		step(0, system, task, a0, o0),
		step(1, system, task, a0, stub, a1, o1),
		step(2, system, task, a0, stub, a1, o1, a2, o2),
	}, ",")
	history := strings.Join([]string{system, task, a0, o0, a1, o1, a2, o2}, ",")
	for name, log := range map[string]string{
		"with a history":    `{"trajectory":[` + steps + `],"history":[` + history + `],"info":{}}`,
		"without a history": `{"trajectory":[` + steps + `],"info":{}}`,
	} {
		got := importAs(t, model.FormatSWEAgent, "old.traj", []byte(log), testOptions())
		checkValid(t, got.events)
		usages, elisions := factsOf[*schema.UsageRecorded](t, got), factsOf[*schema.ElisionApplied](t, got)
		if len(usages) != 3 || len(got.report.Problems) > 0 {
			t.Fatalf("%s: %d calls, problems %v", name, len(usages), got.report.Problems)
		}
		for i, want := range []any{nil, float64(4), float64(6)} {
			if shown := usages[i].Metadata["window_messages"]; fmt.Sprint(shown) != fmt.Sprint(want) {
				t.Errorf("%s: step %d saw %v messages instead of %v", name, i, shown, want)
			}
			if next := *usages[i].WindowNext; name == "with a history" && next != int64(2+2*i) {
				t.Errorf("%s: the window of step %d ends before %d", name, i, next)
			}
		}
		if name == "with a history" && (len(elisions) != 1 || elisions[0].PassID != "step-2:elision") {
			t.Errorf("%s: the elisions are %+v", name, elisions)
		}
	}
}

func sliceRecord(n int, kind, text string) string {
	parent := fmt.Sprintf(`"u-%d"`, n-1)
	if n == 0 {
		parent = "null"
	}
	message := fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q}]}`, kind, text)
	if kind == "assistant" {
		message = fmt.Sprintf(`{"role":%q,"id":"msg_%d","model":"claude-x","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"text","text":%q}]}`, kind, n, text)
	}
	return fmt.Sprintf(`{"type":%q,"uuid":"u-%d","parentUuid":%s,"sessionId":"s-1","timestamp":"2026-11-01T10:%02d:00Z","message":%s}`, kind, n, parent, n, message)
}

func sliceLines(from, to int) (list []string) {
	for n := from; n < to; n++ {
		list = append(list, sliceRecord(n, []string{"user", "assistant"}[n%2], fmt.Sprintf("text %d", n)))
	}
	return list
}

// TestSlicesOfOneSession imports a session in three logs that share no record. No event id is used
// twice for a source, and the range of a window holds entries of its own slice only. In one log
// that lacks the middle slice, the windows after the gap are partial.
func TestSlicesOfOneSession(t *testing.T) {
	t.Parallel()
	positions, sources := make(map[int64]int), make(map[string]int)
	var usages [][]*schema.UsageRecorded
	for i, lines := range [][]string{sliceLines(0, 6), sliceLines(6, 12), sliceLines(12, 18)} {
		got := importText(t, "slice.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
		checkValid(t, got.events)
		for _, e := range factsOf[*schema.LogAppended](t, got) {
			if other, known := positions[*e.Position]; known {
				t.Errorf("slices %d and %d have an entry at position %d", other, i, *e.Position)
			}
			positions[*e.Position] = i
		}
		for _, e := range got.events {
			if of, known := sources[e.Source]; known && of != i {
				t.Fatalf("slices %d and %d have the source %s", of, i, e.Source)
			}
			sources[e.Source] = i
		}
		usages = append(usages, factsOf[*schema.UsageRecorded](t, got))
	}
	for i, list := range usages {
		for _, u := range list {
			partial := strings.Contains(fmt.Sprint(u.CoverageReasons), string(schema.PartialEntries))
			if partial != (i > 0) || (u.WindowFirst == nil) != partial {
				t.Errorf("slice %d: window from %v, %v", i, u.WindowFirst, u.CoverageReasons)
			}
			for position, of := range positions {
				if position < *u.WindowNext && of > i {
					t.Errorf("the window of slice %d has the position %d of slice %d", i, position, of)
				}
			}
		}
	}
	lacking := strings.Join(append(sliceLines(0, 6), sliceLines(12, 18)...), "\n")
	for i, u := range factsOf[*schema.UsageRecorded](t, importText(t, "gap.jsonl", []byte(lacking), testOptions())) {
		if gap := strings.Contains(fmt.Sprint(u.CoverageReasons), string(schema.PartialSlice)); gap != (i >= 3) {
			t.Errorf("call %d: %v", i, u.CoverageReasons)
		}
	}
}

// TestTextsThatNoModelSees: an error of the API and the command that ends the program are in no
// window. Other commands are, since the client sends them.
func TestTextsThatNoModelSees(t *testing.T) {
	t.Parallel()
	lines := sliceLines(0, 2)
	add := func(kind, text, more string) {
		record := sliceRecord(len(lines), kind, text)
		lines = append(lines, strings.Replace(record, `"sessionId"`, more+`"sessionId"`, 1))
	}
	add("user", "again", "")
	add("assistant", "API Error: overloaded", `"isApiErrorMessage":true,`)
	lines[3] = strings.Replace(lines[3], "claude-x", "<synthetic>", 1)
	add("user", "<local-command-caveat>Made up.", `"isMeta":true,`)
	add("user", "<command-name>/exit</command-name>", "")
	add("user", "<local-command-stdout>Bye.</local-command-stdout>", "")
	add("user", "<local-command-caveat>Made up.", `"isMeta":true,`)
	add("user", "<command-name>/clear</command-name>", "")
	add("user", "hello again", "")
	lines = append(lines, sliceRecord(len(lines), "assistant", "hello"))
	lines[10] = strings.Replace(lines[10], `"msg_10"`, `"msg_9"`, 1)
	got := importText(t, "exit.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	checkValid(t, got.events)
	usages := factsOf[*schema.UsageRecorded](t, got)
	last := usages[len(usages)-1]
	items := int64(0)
	for _, l := range last.Layers {
		items += *l.Items
	}
	// two prompts and an answer, the last command with its caveat, and the last prompt
	if items != 6 || fmt.Sprint(last.Metadata["entries_not_in_window"]) != "4" {
		t.Errorf("the window has %d items; %v entries are not in it", items, last.Metadata["entries_not_in_window"])
	}
}

// TestUnparsedAnswersOfOpenHands: a call whose answer could not be parsed saw the window of the
// thread. Its count names a response that no event has.
func TestUnparsedAnswersOfOpenHands(t *testing.T) {
	t.Parallel()
	event := func(id int, more string) string {
		return fmt.Sprintf(`{"id":%d,"timestamp":"2026-11-01T10:00:%02d","source":"agent",%s}`, id, id, more)
	}
	run := func(id int, response string) string {
		return event(id, fmt.Sprintf(`"action":"run","args":{"command":"ls"},"tool_call_metadata":{"tool_call_id":"c-%d","function_name":"run","model_response":{"id":%q,"model":"m"}}`, id, response))
	}
	prompt := strings.Replace(event(0, `"action":"message","args":{"content":"fix it"}`), `"agent"`, `"user"`, 1)
	failure := event(2, `"observation":"error","content":"the tool was called without an argument"`)
	count := func(id string) string {
		return fmt.Sprintf(`{"model":"m","prompt_tokens":10,"completion_tokens":2,"cache_read_tokens":0,"cache_write_tokens":0,"response_id":%q}`, id)
	}
	log := fmt.Sprintf(`{"instance_id":"i","history":[%s],"metrics":{"token_usages":[%s]}}`,
		strings.Join([]string{prompt, run(1, "r-1"), failure, run(3, "r-3")}, ","), strings.Join([]string{count("r-1"), count("r-2"), count("r-3")}, ","))
	got := importAs(t, model.FormatOpenHands, "output.jsonl", []byte(log), testOptions())
	checkValid(t, got.events)
	usages := factsOf[*schema.UsageRecorded](t, got)
	if len(usages) != 3 || got.report.Calls != 3 || got.report.Tokens.UncachedInput != 30 {
		t.Fatalf("%d calls: %+v", len(usages), got.report)
	}
	for i, id := range []string{"r-1", "r-2", "r-3"} {
		u := usages[i]
		if u.CallID != id || u.WindowNext == nil || u.Metadata["background"] != nil || (u.Metadata["answer_not_in_history"] == true) != (i == 1) {
			t.Errorf("call %d is %s, window to %v, %v", i, u.CallID, u.WindowNext, u.Metadata)
		}
	}
}

// TestCallsOfSubagentsInProgress: a sub-agent's calls in progress records count, and count once if
// the sub-agent's own file has them, too. No event id is used twice for a source.
func TestCallsOfSubagentsInProgress(t *testing.T) {
	t.Parallel()
	inner := func(n int) string {
		return fmt.Sprintf(`{"type":"assistant","timestamp":"2026-11-01T10:00:%02dZ","uuid":"a-%d","requestId":"r","message":{"role":"assistant","id":"msg_sub_%d","model":"claude-x","usage":{"input_tokens":3,"output_tokens":%d},"content":[{"type":"text","text":"sub %d"}]}}`, n, n, n, n, n)
	}
	progress := func(n int) string {
		return fmt.Sprintf(`{"parentUuid":"u-1","isSidechain":false,"type":"progress","sessionId":"s-1","uuid":"p-%d","timestamp":"2026-11-01T10:00:%02dZ","data":{"message":%s,"type":"agent_progress","agentId":"agent-7"}}`, n, n, inner(n))
	}
	lines := append(sliceLines(0, 2), progress(2), progress(3), progress(3), strings.Replace(sliceRecord(2, "user", "go on"), `"parentUuid":"u-1"`, `"parentUuid":"p-3"`, 1), sliceRecord(3, "assistant", "done"))
	whole := importText(t, "main.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	checkValid(t, whole.events)
	if whole.report.Calls != 4 || whole.report.Tokens.Output != 2+2+3+2 || len(whole.report.Problems) > 0 {
		t.Errorf("%d calls, %+v, %v", whole.report.Calls, whole.report.Tokens, whole.report.Problems)
	}
	var own []string
	for n := range 4 {
		if n >= 2 {
			own = append(own, strings.Replace(inner(n), `"type":"assistant"`, `"type":"assistant","sessionId":"s-1","agentId":"agent-7","isSidechain":true`, 1))
		}
	}
	file := importText(t, "agent-7.jsonl", []byte(strings.Join(own, "\n")), testOptions())
	ids := make(map[string]bool)
	for _, e := range append(whole.events, file.events...) {
		if ids[e.Source+e.ID] {
			t.Errorf("%s of %s is used twice", e.ID, e.Source)
		}
		ids[e.Source+e.ID] = true
	}
	whole.report.Merge(file.report)
	if whole.report.Calls != 4 || whole.report.Tokens.Output != 9 {
		t.Errorf("with its own file: %d calls, %+v", whole.report.Calls, whole.report.Tokens)
	}
	for _, u := range factsOf[*schema.UsageRecorded](t, whole) {
		if gap := strings.Contains(fmt.Sprint(u.CoverageReasons), string(schema.PartialSlice)); gap {
			t.Errorf("%s has a gap", u.CallID)
		}
	}
}

// TestAUserReturned: after a user returned to an earlier record, the range of a window has entries that were not
// in it, and the coverage says so. A compaction ends that.
func TestAUserReturned(t *testing.T) {
	t.Parallel()
	var lines []string
	parent := "null"
	add := func(n int, kind, after string) {
		lines = append(lines, strings.Replace(sliceRecord(n, kind, fmt.Sprint("text ", n)), fmt.Sprintf(`"parentUuid":"u-%d"`, n-1), `"parentUuid":`+after, 1))
		parent = fmt.Sprintf(`"u-%d"`, n)
	}
	for n, kind := range []string{"user", "assistant", "user", "assistant"} {
		add(n, kind, parent)
	}
	add(4, "user", `"u-1"`)
	add(5, "assistant", parent)
	lines = append(lines, `{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"sessionId":"s-1","timestamp":"2026-11-01T10:06:00Z"}`)
	lines = append(lines, strings.Replace(sliceRecord(7, "user", "what was said"), `"type":"user",`, `"type":"user","isCompactSummary":true,`, 1))
	add(8, "user", `"u-7"`)
	add(9, "assistant", parent)
	var returned []bool
	for _, u := range factsOf[*schema.UsageRecorded](t, importText(t, "log.jsonl", []byte(strings.Join(lines, "\n")), testOptions())) {
		returned = append(returned, slices.Contains(u.CoverageReasons, string(schema.PartialReturn)))
	}
	if got := fmt.Sprint(returned); got != "[false false true false]" {
		t.Errorf("the calls after a return are %s", got)
	}
}
