package read_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// growing adds a session whose windows grow, are cut, and grow again. Each is written whole, or as the
// blocks that follow those it keeps of the window before.
func (c *corpus) growing(based bool) (calls, items []string) {
	c.in("s9", "s9", "t1", "s9")
	c.ids.RootRunID, c.ids.ParentRunID = "s9", ""
	block := func(n int) schema.Block {
		id := fmt.Sprint("i", n)
		if !slices.Contains(items, id) {
			items = append(items, id)
			item := schema.Item{ItemID: id, ContextKind: "tool_result", Title: "item " + id, TokenEstimate: num(int64(10 + n))}
			if n == 3 {
				item.Layer = "reasoning"
			}
			c.add(&schema.ItemAdded{Item: item})
		}
		b := schema.Block{Block: fmt.Sprint("b", n), ItemRefs: refs(id), Layer: []string{"system", "tool_results"}[n%2], Role: "user", Tokens: num(int64(10 + n)), Wrapper: "w"}
		if n%3 > 0 {
			b.Digest = fmt.Sprint("digest", n)
		}
		return b
	}
	var before []int
	for i, window := range [][]int{{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 6}, {0, 1, 2, 6, 7}, {0, 1, 2, 6, 7, 8, 9}} {
		c.ids.TurnID = fmt.Sprint("t", 1+i/2)
		call, keep := fmt.Sprint("call", i), 0
		for based && keep < min(len(before), len(window)) && before[keep] == window[keep] {
			keep++
		}
		f := &schema.AssemblyCreated{AssemblyID: fmt.Sprint("a", i), CallID: call, Target: "model"}
		f.Fidelity, f.Coverage = schema.FidelitySerialized, schema.CoverageComplete
		if keep > 0 {
			f.BaseAssemblyID, f.Keep = fmt.Sprint("a", i-1), num(int64(keep))
		}
		for at, n := range window {
			b := block(n)
			b.Position = num(int64(at))
			if at >= keep {
				f.OrderedBlocks = append(f.OrderedBlocks, b)
			}
		}
		c.add(f)
		if i == 2 { // kept by the next window, too
			c.add(&schema.RedactionApplied{Common: schema.Common{PolicyRefs: refs("p")}, RedactionID: "r1", TargetRef: "i1", RedactionState: schema.RedactionRemoved, Reason: "secret"})
		}
		c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "n" + call, CallID: call, AssemblyID: f.AssemblyID, Target: "model", InjectionKind: "window", ItemRefs: refs("i0", "i2", "i9")}})
		if i != 4 { // a turn whose last call is known by its window only
			c.call(call, f.AssemblyID, 20, int64(10*i), 30)
		}
		calls, before = append(calls, call), window
	}
	return calls, items
}

// ofWindows finds the relations that assemblies are in. Nothing else knows how an assembly was recorded.
var ofWindows = regexp.MustCompile(`placements|assembl|injections|turn_window|call_layers|cache_bill|cache_breaks|check_`)

// TestBasesChangeNoAnswer: every query, every view and package turn answer for windows that build on
// the window before as for the same windows written whole.
func TestBasesChangeNoAnswer(t *testing.T) {
	t.Parallel()
	first, second := newCorpus(t), newCorpus(t)
	second.batch.Incarnation = first.batch.Incarnation
	first.growing(false)
	calls, items := second.growing(true)
	whole, based := first.write(), second.write()
	form := []string{"base_assembly_id", "keep", "whole_windows"} // how the assembly was recorded
	asked := 0
	for _, q := range queries.All() {
		arguments := map[string]string{}
		for _, p := range q.Parameters {
			if p.Name == "session_id" {
				arguments["session_id"] = "s9"
			}
		}
		if _, err := q.Bind(arguments); err != nil || !ofWindows.MatchString(q.SQL) {
			continue
		}
		var columns []string
		for _, c := range q.Columns {
			columns = append(columns, c.Name)
		}
		got := named(t, based, q.Name, arguments, columns...)
		same(t, q.Name, got, named(t, whole, q.Name, arguments, columns...))
		if len(got) > 0 {
			asked++
		}
	}
	if asked < 12 {
		t.Errorf("only %d queries have rows", asked)
	}
	filled := 0
	for _, v := range migrate.Views() {
		if slices.Contains([]string{"assembly_bases", "kept_blocks", "based_assemblies"}, v.Name) || !ofWindows.MatchString(v.Name) {
			continue
		}
		var columns []string
		for _, c := range v.Columns {
			if !slices.Contains(form, c.Name) {
				columns = append(columns, c.Name)
			}
		}
		list := strings.Join(columns, ", ")
		got := rows(t, based, "SELECT "+list+" FROM "+v.Name+" ORDER BY toString(tuple("+list+"))", nil)
		same(t, v.Name, got, rows(t, whole, "SELECT "+list+" FROM "+v.Name+" ORDER BY toString(tuple("+list+"))", nil))
		if len(got) > 0 {
			filled++
		}
	}
	if filled < 6 {
		t.Errorf("only %d views have rows", filled)
	}
	for i, call := range calls {
		arguments := map[string]string{"session_id": "s9", "turn_id": fmt.Sprint("t", 1+i/2), "call_id": call}
		blocks, _, err := turn.Window(t.Context(), based, arguments)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := turn.Window(t.Context(), whole, arguments)
		if err != nil {
			t.Fatal(err)
		}
		same(t, arguments, blocks, want)
		if i == len(calls)-1 {
			same(t, arguments, selected[turn.Block](t, based, "window", arguments), blocks)
		}
	}
	for _, item := range items {
		arguments := map[string]string{"session_id": "s9", "item_id": item}
		steps, err := turn.Way(t.Context(), based, arguments)
		if err != nil {
			t.Fatal(err)
		}
		want, err := turn.Way(t.Context(), whole, arguments)
		if err != nil {
			t.Fatal(err)
		}
		same(t, arguments, steps, want)
		if item == "i2" {
			same(t, arguments, selected[turn.Step](t, based, "why", arguments), steps)
		}
	}
}
