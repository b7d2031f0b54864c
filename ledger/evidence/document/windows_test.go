package document

import (
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestWindowsOfTwoAttempts: attempts that reuse a turn, a call and an assembly have separate
// windows. The limits of a window come from the budget of its attempt.
func TestWindowsOfTwoAttempts(t *testing.T) {
	t.Parallel()
	var w windows
	w.begin(true)
	for n, attempt := range []string{"1", "2"} {
		e := &schema.Event{Correlation: schema.Correlation{TurnID: "turn", AttemptID: attempt}}
		w.see(e, &schema.BudgetApplied{BudgetID: "budget", CallID: "call", MaxTokens: new(int64(100 + n))})
		w.see(e, &schema.AssemblyCreated{AssemblyID: "assembly", CallID: "call", Target: "model", OrderedBlocks: []schema.Block{{Block: attempt}}})
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
