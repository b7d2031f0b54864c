package document

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestWindowsOfTwoAttempts: attempts that reuse a turn, a call and an assembly have separate
// windows. The limits of a window come from the budget of its attempt.
func TestWindowsOfTwoAttempts(t *testing.T) {
	t.Parallel()
	var w windows
	w.begin(3)
	for n, attempt := range []string{"1", "2"} {
		e := &schema.Event{Correlation: schema.Correlation{TurnID: "turn", AttemptID: attempt}}
		w.see(e, &schema.BudgetApplied{BudgetID: "budget", CallID: "call", MaxTokens: new(int64(100 + n))}, nil)
		f := &schema.AssemblyCreated{AssemblyID: "assembly", CallID: "call", Target: "model", OrderedBlocks: []schema.Block{{Block: attempt}}}
		w.see(e, f, w.whole(e, f))
	}
	if w.count() != 2 {
		t.Fatalf("%d windows, want 2", w.count())
	}
	for n, found := range w.turns {
		if *found.max != int64(100+n) || found.blocks[0].what != found.attempt {
			t.Errorf("window of attempt %s: %+v", found.attempt, found)
		}
	}
}

// TestWindowOnABase: a window has the blocks that its assembly keeps of a base. A window whose base is
// not in the pack is partial.
func TestWindowOnABase(t *testing.T) {
	t.Parallel()
	var w windows
	w.begin(3)
	see := func(turn, id, base string, keep int64, blocks ...string) {
		f := &schema.AssemblyCreated{AssemblyID: id, CallID: turn, Target: "model"}
		if base != "" {
			f.BaseAssemblyID, f.Keep = base, &keep
		}
		for _, b := range blocks {
			f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{Block: b})
		}
		e := &schema.Event{Correlation: schema.Correlation{SessionID: "s", TurnID: turn}}
		w.see(e, f, w.whole(e, f))
	}
	see("1", "a", "", 0, "x", "y", "z")
	see("2", "b", "a", 2, "v")
	see("3", "c", "b", 3, "u")
	see("4", "d", "a", 1, "t") // a second one on the same base
	see("5", "e", "gone", 2, "s")
	see("6", "f", "a", 4, "r") // its base is shorter
	see("7", "g", "e", 1, "q") // its base lacks blocks
	for i, want := range []string{"xyz", "xyv", "xyvu", "xt", "s base_missing", "xyzr base_missing", "q base_missing"} {
		var got strings.Builder
		for _, b := range w.turns[i].blocks {
			got.WriteString(b.what)
		}
		for _, reason := range w.turns[i].known.CoverageReasons {
			got.WriteString(" " + reason)
		}
		if got.String() != want {
			t.Errorf("turn %d has %q, want %q", i+1, got.String(), want)
		}
		var text strings.Builder
		w.turns[i].draw(&text)
		if partial := strings.Contains(want, "base_missing"); partial != strings.Contains(text.String(), "partial: base_missing") {
			t.Errorf("turn %d is drawn as\n%s", i+1, text.String())
		}
	}
}
