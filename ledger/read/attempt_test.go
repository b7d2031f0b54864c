package read_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// TestTwoAttemptsWithTheSameIDs: a second attempt with the same ids leaves the first attempt
// unchanged. All views show both attempts, and no check reports either.
func TestTwoAttemptsWithTheSameIDs(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	attempt := func(name string, tokens int64, selected, omitted string) {
		c.in("s1", "s1", "t1", "run")
		c.ids.TaskID, c.ids.AttemptID = "task", name
		for _, id := range []string{"a", "b"} {
			c.add(&schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "document", TokenEstimate: num(tokens)}})
		}
		c.add(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: "surface", AvailableItemRefs: refs("a", "b")}})
		c.add(&schema.SelectionCompleted{
			Selection: schema.Selection{SelectionID: "selection", SurfaceID: "surface", CallID: "call", Candidates: refs("a", "b")},
			Selected:  []schema.Candidate{{ItemRef: schema.Ref(selected)}},
			Omitted:   []schema.Candidate{{ItemRef: schema.Ref(omitted), Reason: schema.OmitLowRelevance}},
		})
		c.add(&schema.BudgetApplied{BudgetID: "budget", CallID: "call", Target: "model", Model: "m1", MaxTokens: num(100), ActualTokens: &tokens,
			WindowSegments: []schema.Segment{{Segment: "docs", Layer: "retrieval", Actual: &tokens}}})
		c.add(&schema.AssemblyCreated{AssemblyID: "assembly", CallID: "call", Target: "model", OrderedBlocks: []schema.Block{
			{Block: "doc", Layer: "retrieval", Role: "user", Tokens: &tokens, Digest: "doc" + name, ItemRefs: refs(selected), Position: num(0)}}})
		c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "injection", CallID: "call", AssemblyID: "assembly", Target: "model", InjectionKind: "window", ItemRefs: refs(selected)}})
		c.call("call", "assembly", tokens, 0, 0)
	}
	attempt("1", 11, "a", "b")
	attempt("2", 22, "b", "a")
	l := c.write()
	for query, want := range map[string]string{
		"SELECT attempt_id, item_refs, tokens, position, injected FROM turn_window ORDER BY 1":                           "[[1 [a] 11 0 true] [2 [b] 22 0 true]]",
		"SELECT attempt_id, call_id, uncached_input FROM model_calls ORDER BY 1":                                         "[[1 call 11] [2 call 22]]",
		"SELECT attempt_id, layer, assembly_tokens, budget_tokens FROM call_layers WHERE layer = 'retrieval' ORDER BY 1": "[[1 retrieval 11 11] [2 retrieval 22 22]]",
		"SELECT attempt_id, item_ref, outcome FROM turn_candidates ORDER BY 1, 2":                                        "[[1 a selected] [1 b omitted] [2 a omitted] [2 b selected]]",
		"SELECT calls, uncached_input, output, selections, injections FROM session_summary":                              "[[2 33 20 2 2]]",
		"SELECT calls, total_window_tokens FROM run_tree":                                                                "[[2 33]]",
		"SELECT count() FROM check_conservation":                                                                         "[[0]]",
		"SELECT count() FROM check_injected_without_assembly":                                                            "[[0]]",
		"SELECT count() FROM check_lost_runtime_ids":                                                                     "[[0]]",
		"SELECT count() FROM cache_bill":                                                                                 "[[2]]",
	} {
		if got := fmt.Sprint(rows(t, l, query, nil)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
	// For a call id of both attempts, the window is that of the last attempt only.
	arguments := map[string]string{"session_id": "s1", "turn_id": "t1", "call_id": "call"}
	blocks, size, err := turn.Window(t.Context(), l, arguments)
	if err != nil || len(blocks) != 1 || *blocks[0].Tokens != 22 || fmt.Sprint(blocks[0].Items) != "[b]" || size == nil {
		t.Errorf("%+v, %+v, %v", blocks, size, err)
	}
	if got := fmt.Sprint(named(t, l, "window", arguments, "item_refs", "tokens", "is_new")); got != fmt.Sprintf("[[[b] 22 %v]]", *blocks[0].New) {
		t.Errorf("the query says %s", got)
	}
	for attempt, want := range map[string]string{"1": "[a] 11", "2": "[b] 22"} {
		arguments["attempt_id"] = attempt
		blocks, size, err := turn.Window(t.Context(), l, arguments)
		if err != nil || len(blocks) != 1 || fmt.Sprint(blocks[0].Items, *blocks[0].Tokens) != want || size == nil || size.Omitted != 1 {
			t.Errorf("attempt %s: %+v, %+v, %v", attempt, blocks, size, err)
		}
		if got := fmt.Sprint(named(t, l, "window", arguments, "item_refs", "tokens")); got != "[["+want+"]]" {
			t.Errorf("the query says %s of attempt %s, want %s", got, attempt, want)
		}
	}
	for query, want := range map[string]string{"reconciliation-by-layer": "retrieval 11 retrieval 22", "injected-never-assembled": ""} {
		got := ""
		for _, row := range named(t, l, query, map[string]string{"session_id": "s1"}, map[string][]string{
			"reconciliation-by-layer": {"layer", "assembly_tokens"}, "injected-never-assembled": {"injection_id", "assembly_id"}}[query]...) {
			if query == "injected-never-assembled" || row[0] == "retrieval" {
				got += " " + row[0] + " " + row[1]
			}
		}
		if len(got) > 0 {
			got = got[1:]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestInjectionWithoutAnAssemblyOfItsAttempt: the assembly of another attempt does not count, even
// with the same id.
func TestInjectionWithoutAnAssemblyOfItsAttempt(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run")
	c.ids.AttemptID = "1"
	c.add(&schema.AssemblyCreated{AssemblyID: "assembly", CallID: "call", Target: "model", OrderedBlocks: []schema.Block{{Block: "doc", Position: num(0)}}})
	c.ids.AttemptID = "2"
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "injection", CallID: "call", AssemblyID: "assembly", Target: "model", InjectionKind: "window"}})
	l := c.write()
	if got := fmt.Sprint(rows(t, l, "SELECT attempt_id, injection_id FROM check_injected_without_assembly", nil)); got != "[[2 injection]]" {
		t.Errorf("got %s, want the injection of attempt 2", got)
	}
}

// TestTwoToolsOfACall: each tool call of a model call has a separate window.
func TestTwoToolsOfACall(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run")
	for i, tool := range []string{"", "tool-1", "tool-2", "tool-2"} {
		c.ids.ToolCallID = tool
		target := "tool"
		if tool == "" {
			target = "model"
		}
		c.add(&schema.AssemblyCreated{AssemblyID: fmt.Sprint("assembly-", i), CallID: "call", Target: target, OrderedBlocks: []schema.Block{
			{Block: "doc", Tokens: num(int64(i)), ItemRefs: refs(fmt.Sprint("item-", i)), Position: num(0)}}})
	}
	l := c.write()
	want := "[[ [item-0]] [tool-1 [item-1]] [tool-2 [item-3]]]"
	if got := fmt.Sprint(rows(t, l, "SELECT tool_call_id, item_refs FROM turn_window ORDER BY 1", nil)); got != want {
		t.Errorf("the view has %s", got)
	}
	arguments := map[string]string{"session_id": "s1", "turn_id": "t1", "call_id": "call"}
	want = "[[ [item-0]] [tool-1 [item-1]] [tool-2 [item-3]]]"
	if got := fmt.Sprint(named(t, l, "window", arguments, "tool_call_id", "item_refs")); got != want {
		t.Errorf("the query has %s", got)
	}
	blocks, _, err := turn.Window(t.Context(), l, arguments)
	if err != nil || len(blocks) != 3 || blocks[1].ToolCall != "tool-1" || blocks[2].ToolCall != "tool-2" {
		t.Errorf("%+v, %v", blocks, err)
	}
}

// TestARetryHasAWindowOfItsOwn: shortened or summarised items of one attempt remain in the window
// of another attempt. This holds for all ids and log positions that both use. Gaps of another
// attempt need not be carried over.
func TestARetryHasAWindowOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	attempt := func(name, turn, text string, shortened bool) {
		c.in("s1", "s1", turn, "run-"+name)
		c.ids.TaskID, c.ids.AttemptID = "task", name
		for i, kind := range []string{"message", "function_call_output", "reasoning"} {
			c.entry(fmt.Sprint(text, i), kind, "", "tool", int64(i), 10)
		}
		c.add(&schema.LogAppended{LogItemID: "thought", ItemType: "reasoning", Position: num(3), Tokens: num(4)})
		c.add(&schema.AssemblyCreated{AssemblyID: "assembly", CallID: "shown", Target: "model", OrderedBlocks: []schema.Block{
			{Block: "b", Tokens: num(10), ItemRefs: refs("item"), Position: num(0)}, {Block: "t", Tokens: num(4), ItemRefs: refs("thought"), Position: num(1)}}})
		if shortened {
			c.add(&schema.MissingDetected{Missing: schema.Missing{MissingID: "gap-" + name, Question: "?", Status: schema.StatusOpen, RequestedFrom: "user", RequestedAction: "say", UserSummary: "a gap"}})
			c.add(&schema.ElisionApplied{Elision: schema.Elision{PassID: "pass", Level: schema.ElideTrivial, ElidedItemRefs: []schema.Elided{
				{ItemRef: "item", TokensBefore: num(10), TokensAfter: num(1)}, {ItemRef: schema.Ref(text + "1"), TokensBefore: num(10), TokensAfter: num(1)}}}})
			c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compaction", Scope: "thread", SummaryRef: "summary", SourceItemRefs: refs(text + "0"),
				SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(0)}, LossNotes: []string{"gap-" + name}}})
			c.add(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "summary", SummaryKind: "compact", CoversThroughPosition: num(0), Tokens: num(int64(len(name)))}})
		}
		c.add(&schema.AssemblyCreated{AssemblyID: "assembly-2", CallID: "later", Target: "model", OrderedBlocks: []schema.Block{
			{Block: "b", Tokens: num(10), ItemRefs: refs("item"), Position: num(0)}}})
		c.add(&schema.UsageRecorded{CallID: "logged", Model: "m1", WindowFirst: num(0), WindowNext: num(3)})
	}
	attempt("1", "t1", "first", true)
	attempt("22", "t2", "second", false)
	c.in("s1", "s1", "t2", "run-22")
	c.ids.TaskID, c.ids.AttemptID = "task", "22"
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compaction", Scope: "thread", SummaryRef: "summary", SourceItemRefs: refs("second0"),
		SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(0)}}})
	c.add(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "summary", SummaryKind: "compact", CoversThroughPosition: num(0), Tokens: num(2)}})
	l := c.write()
	for sql, want := range map[string]string{
		"SELECT attempt_id, call_id, groupArray(concat(item_refs[1], if(elided, ' elided', ''))) FROM turn_window GROUP BY 1, 2 ORDER BY 1, 2": "[[1 later [item elided]] [1 logged [first1 elided first2]] [1 shown [item thought]] [22 later [item]] [22 logged [second0 second1 second2]] [22 shown [item thought]]]",
		"SELECT count() FROM check_reasoning_reinjected":                            "[[0]]",
		"SELECT count() FROM check_compaction_dropped_open_gap":                     "[[0]]",
		"SELECT attempt_id, compaction_id, summary_ref FROM compactions ORDER BY 1": "[[1 compaction summary] [22 compaction summary]]",
		"SELECT attempt_id, tokens FROM summaries ORDER BY 1":                       "[[1 1] [22 2]]",
	} {
		if got := fmt.Sprint(rows(t, l, sql, nil)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
	if got := fmt.Sprint(named(t, l, "summaries", map[string]string{"session_id": "s1"}, "compact_summaries", "summary_id", "versions", "tokens")); got != "[[2 summary 1 1] [2 summary 1 2]]" {
		t.Errorf("summaries: %s", got)
	}
	if got := fmt.Sprint(named(t, l, "compaction-quality", map[string]string{"session_id": "s1"}, "compaction_id", "tokens_after")); got != "[[compaction 1] [compaction 2]]" {
		t.Errorf("compaction-quality: %s", got)
	}
	for turnID, attempt := range map[string]string{"t1": "1", "t2": "22"} {
		for _, call := range []string{"shown", "later", "logged"} {
			arguments := map[string]string{"session_id": "s1", "turn_id": turnID, "call_id": call, "attempt_id": attempt}
			blocks, _, err := turn.Window(t.Context(), l, arguments)
			if err != nil || len(blocks) == 0 {
				t.Fatalf("%v: %d blocks, %v", arguments, len(blocks), err)
			}
			same(t, arguments, blocks, selected[turn.Block](t, l, "window", arguments))
		}
	}
}

// TestAskOfATask: queries accept a task, an attempt and a run, and the query tasks lists them.
func TestAskOfATask(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	for i, attempt := range []string{"1", "2"} {
		c.in("s1", "s1", "t"+attempt, "run-"+attempt)
		c.ids.TaskID, c.ids.AttemptID, c.ids.StepID = "task", attempt, "step"
		c.choose("s"+attempt, 10, schema.Candidate{ItemRef: "a", Reason: schema.OmitStale, Tokens: num(5)})
		c.call("call-"+attempt, "", int64(10*(i+1)), 0, 0)
		c.ids.ActionID = "act"
		c.add(&schema.MissingDetected{Missing: schema.Missing{MissingID: "gap-" + attempt, Question: "?", Status: schema.StatusOpen, RequestedFrom: "user", RequestedAction: "say", UserSummary: "a gap"}})
	}
	c.in("s1", "s1", "t3", "run-3")
	c.call("call-3", "", 1, 0, 0)
	l := c.write()
	for _, ask := range []struct{ query, parameter, value, columns, want string }{
		{"tasks", "", "", "task_id attempt_id run_ids turns steps actions calls window_tokens omissions gaps", "[[task 2 [run-2] 1 1 1 1 20 1 1] [task 1 [run-1] 1 1 1 1 10 1 1]]"},
		{"tasks", "attempt_id", "1", "task_id attempt_id", "[[task 1]]"},
		{"tasks", "run_id", "run-2", "task_id attempt_id", "[[task 2]]"},
		{"tasks", "task_id", "other", "task_id", "[]"},
		{"turns", "", "", "turn_id", "[[t1] [t2] [t3]]"},
		{"turns", "task_id", "task", "turn_id", "[[t1] [t2]]"},
		{"turns", "attempt_id", "2", "turn_id", "[[t2]]"},
		{"turns", "run_id", "run-3", "turn_id", "[[t3]]"},
		{"model-usage", "attempt_id", "2", "calls uncached_input", "[[1 20]]"},
		{"model-usage", "task_id", "task", "calls uncached_input", "[[2 30]]"},
		{"model-usage", "run_id", "run-3", "calls uncached_input", "[[1 1]]"},
		{"omission-reasons", "attempt_id", "1", "reason omissions", "[[stale 1]]"},
		{"omission-reasons", "run_id", "run-3", "reason", "[]"},
		{"gaps", "attempt_id", "2", "missing_id", "[[gap-2]]"},
		{"gaps", "task_id", "task", "missing_id", "[[gap-1] [gap-2]]"},
		{"gaps", "run_id", "run-1", "missing_id", "[[gap-1]]"},
	} {
		give := map[string]string{"session_id": "s1"}
		if ask.parameter != "" {
			give[ask.parameter] = ask.value
		}
		if got := fmt.Sprint(named(t, l, ask.query, give, strings.Fields(ask.columns)...)); got != ask.want {
			t.Errorf("%s with %s %s:\n got %s\nwant %s", ask.query, ask.parameter, ask.value, got, ask.want)
		}
	}
}
