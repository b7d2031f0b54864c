package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// TestWindowsOfBases: a window whose assembly builds on a base is whole, at every depth of the chain.
// A window that lacks a base is partial and says so. The view, the query and package turn agree.
func TestWindowsOfBases(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "run-9")
	want, coverage := make(map[string][]string), make(map[string]string)
	build := func(id, base string, keep int64, blocks ...string) {
		f := &schema.AssemblyCreated{AssemblyID: id, CallID: "call-" + id, Target: "model"}
		f.Fidelity, f.Coverage = schema.FidelityWire, schema.CoverageComplete
		if base != "" {
			f.BaseAssemblyID, f.Keep = base, &keep
		}
		for i, b := range blocks {
			block := schema.Block{Block: b, ItemRefs: refs("item-" + b), Tokens: num(1)}
			if len(id)%2 == 0 {
				block.Position = num(keep + int64(i))
			}
			f.OrderedBlocks = append(f.OrderedBlocks, block)
		}
		c.add(f)
		held := want[base]
		want[id], coverage[id] = append(slices.Clone(held[:min(int64(len(held)), keep)]), blocks...), "complete []"
		if int64(len(held)) < keep || strings.Contains(coverage[base], "base_missing") && keep > 0 {
			coverage[id] = "partial [base_missing]"
		}
	}
	build("whole", "", 0, "a", "b", "c", "d")
	build("grown", "whole", 4, "e", "f")
	build("cut", "grown", 2, "g")   // the end of its base is gone
	build("below", "cut", 3, "h")   // keeps blocks of three assemblies
	build("other", "grown", 5, "i") // a second one on the same base
	build("none", "whole", 0, "j")  // keeps nothing
	build("lost", "gone", 3, "k")   // its base is not there
	build("onlost", "lost", 4, "l") // nor is its base's base
	build("greedy", "cut", 9, "m")  // its base is shorter
	base := "whole"
	for i := range 63 {
		id := fmt.Sprintf("deep%02d", i)
		build(id, base, int64(len(want[base])-i%2), fmt.Sprint("n", i))
		base = id
	}
	last := len(want[base])
	build("toodeep", base, int64(last), "z")
	coverage["toodeep"] = "partial [base_missing]"
	delete(want, "toodeep")
	// A base in parts.
	for n, b := range []string{"p", "q"} {
		f := &schema.AssemblyCreated{AssemblyID: "parts", CallID: "call-parts", Target: "model", OrderedBlocks: []schema.Block{{Block: b, Position: num(int64(n))}}}
		f.Metadata = map[string]any{"part": float64(n + 1), "parts": 2}
		c.add(f)
	}
	want["parts"], coverage["parts"] = []string{"p", "q"}, " []"
	build("onparts", "parts", 2, "r")
	l := c.write()
	got := make(map[string][]string)
	for _, row := range rows(t, l, "SELECT assembly_id, groupArray(block), any(coverage), any(coverage_reasons), any(fidelity) FROM (SELECT * FROM turn_window ORDER BY assembly_id, position) GROUP BY assembly_id", nil) {
		got[row[0]] = row[1:]
	}
	for id, told := range coverage {
		arguments := map[string]string{"session_id": "s9", "turn_id": "t9", "call_id": "call-" + id}
		blocks, _, err := turn.Window(t.Context(), l, arguments)
		if err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.FailNow()
		}
		if len(id) > 5 && id[:4] == "deep" && id != "deep62" && id != "deep01" {
			continue // the query takes longer than package turn
		}
		same(t, arguments, blocks, selected[turn.Block](t, l, "window", arguments))
		var names []string
		for _, b := range blocks {
			names = append(names, b.Block)
			if said := fmt.Sprint(b.Coverage, " ", b.Reasons); said != told {
				t.Errorf("%s is %s, want %s", id, said, told)
			}
		}
		if view := got[id]; len(view) != 4 || view[0] != fmt.Sprint(names) || view[1]+" "+view[2] != told {
			t.Errorf("%s: the view has %v, want %v and %s", id, view, names, told)
		}
		if list, known := want[id]; known && told != "partial [base_missing]" && !slices.Equal(names, list) {
			t.Errorf("%s has %v, want %v", id, names, list)
		}
	}
}
