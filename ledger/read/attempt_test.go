package read_test

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// TestTwoAttemptsWithTheSameIDs: a second attempt that uses every id of the first takes
// nothing of it away. All views show both, and no check reports either.
//
// Source: seed 001, ACTX-AR-ID-002.
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
	// The window of a call id that both have is that of the last, and of nothing else.
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

// TestInjectionWithoutAnAssemblyOfItsAttempt: the assembly of another attempt does not
// count, even if it has the same id.
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

// TestTwoToolsOfACall: each tool call of a model call has a window of its own.
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
