package history_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// way makes a way of steps a second apart, each of the call that is given.
func way(call string, steps ...history.Step) history.Item {
	w := history.Item{Session: "s", Turn: "t2", Call: call, Item: "big.go", Steps: steps, Ended: start.Add(time.Hour)}
	for i := range w.Steps {
		s := &w.Steps[i]
		s.Happened = history.Moment{Time: start.Add(time.Duration(i) * time.Second)}
		if s.Turn == "" {
			s.Turn = "t2"
		}
		s.InTurn = s.Turn == w.Turn
	}
	w.Settle()
	w.Title, w.Answer = history.Named(w.Steps), w.Reply(ui.Thousands)
	return w
}

func n(v int64) *int64 { return &v }

func TestAnswer(t *testing.T) {
	t.Parallel()
	added := history.Step{Step: "added", Turn: "t1", Note: "big.go", After: n(900)}
	assembled := history.Step{Step: "assembled", Call: "c1", Record: "a1", Position: n(3), Before: n(900), After: n(900)}
	injected := history.Step{Step: "injected", Call: "c1", Record: "i1", Position: n(3)}
	omitted := history.Step{Step: "omitted", Call: "c2", Record: "s2", Reason: "budget_limit", Note: "does not fit", Policy: "ladder"}
	elided := history.Step{Step: "elided", Turn: "t1", Record: "pass-1", Note: "offloaded", Before: n(900), After: n(12), StandIn: "file:big.go"}
	reloaded := history.Step{Step: "reloaded", Turn: "t1", Record: "pass-2"}
	compacted := history.Step{Step: "compacted", Turn: "t1", Record: "compact-1", StandIn: "summary-1"}
	in := func(s history.Step, turn, call string) history.Step {
		s.Turn, s.Call = turn, call
		return s
	}
	for name, test := range map[string]struct {
		way  history.Item
		want string
	}{
		"seen":         {way("", added, assembled, injected), "The model saw big.go in call c1 at position 3, unchanged (900 tokens)."},
		"seen twice":   {way("", assembled, injected, in(injected, "t2", "c2")), "The model saw big.go in 2 calls of turn t2, last in call c2 at position 3, unchanged."},
		"one call":     {way("c1", assembled, injected, in(injected, "t2", "c2")), "The model saw big.go in call c1 at position 3, unchanged (900 tokens)."},
		"log":          {way("", history.Step{Step: "seen", Call: "c1", Position: n(7)}), "The model saw big.go in call c1 at position 7 of the item log, unchanged."},
		"then omitted": {way("", injected, omitted), "The model saw big.go in call c1 at position 3, unchanged, but call c2 left it out because the budget had no room for it (budget_limit): does not fit."},
		"omitted":      {way("", added, omitted), "The model did not see big.go in turn t2: call c2 left it out because the budget had no room for it (budget_limit): does not fit, as the policy ladder decided."},
		"other call":   {way("c2", assembled, injected, omitted), "The model did not see big.go in call c2 of turn t2: call c2 left it out because the budget had no room for it (budget_limit): does not fit, as the policy ladder decided."},
		"custom":       {way("", history.Step{Step: "omitted", Call: "c2", Reason: "mood"}), "The model did not see big.go in turn t2: call c2 left it out because of mood."},
		"stub":         {way("", elided, injected), "The model saw big.go in call c1 at position 3, only as a stub (offloaded), 900 → 12 tokens, because pass-1 elided it; it can be read again from file:big.go."},
		"whole again":  {way("", elided, reloaded, injected), "The model saw big.go in call c1 at position 3, unchanged."},
		"elided later": {way("", injected, in(elided, "t3", "")), "The model saw big.go in call c1 at position 3, unchanged."},
		"redacted":     {way("", history.Step{Step: "redacted", Turn: "t1", Note: "masked by pattern", Policy: "no-secrets", Reason: "secret"}, injected), `The model saw big.go in call c1 at position 3, redacted (masked by pattern) under no-secrets because of "secret".`},
		"cut":          {way("", history.Step{Step: "shortened", Call: "c1", Before: n(900), After: n(500)}, injected), "The model saw big.go in call c1 at position 3, cut from 900 to 500 tokens to fit the budget."},
		"summary":      {way("", compacted, history.Step{Step: "omitted", Call: "c2", Reason: "superseded_by_summary"}), "The model did not see big.go in turn t2: call c2 left it out because a summary replaces it (superseded_by_summary); the summary is summary-1, made by compact-1."},
		"compacted":    {way("", added, compacted), "The model did not see big.go itself in turn t2: compact-1 replaced it by the summary summary-1 in turn t1."},
		"removed":      {way("", added, history.Step{Step: "removed", Turn: "t1"}), "The model did not see big.go in turn t2: it was removed in turn t1."},
		"assembled":    {way("", added, assembled), "big.go was assembled for call c1 as part of a1, but no record shows that the model saw it."},
		"selected":     {way("", history.Step{Step: "selected", Call: "c1", Record: "s1"}), "big.go was selected for call c1 by s1, but no assembly holds it, and no record shows that the model saw it."},
		"available":    {way("", history.Step{Step: "available"}), "big.go was available in turn t2, but no recorded selection decided about it, and no window holds it."},
		"logged":       {way("", history.Step{Step: "logged"}), "No window of turn t2 holds big.go, and no record gives the reason: it was only logged there."},
		"earlier":      {way("", in(injected, "t1", "c0")), "Turn t2 does not involve big.go, which the model saw last in call c0 of turn t1."},
		"never seen":   {way("", added), "Turn t2 does not involve big.go, and no earlier window holds it."},
		"gap": {way("", omitted, history.Step{Step: "missing requested", Turn: "t3", Record: "gap-1", Reason: "requested", Note: "what is in it?", StandIn: "alice"}),
			`The model did not see big.go in turn t2: call c2 left it out because the budget had no room for it (budget_limit): does not fit, as the policy ladder decided. It was named to fill the gap gap-1 ("what is in it?"), which is requested with alice.`},
	} {
		if test.way.Answer != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, test.way.Answer, test.want)
		}
	}
	later := way("", in(injected, "t3", "c9"))
	later.Ended = start.Add(-time.Second)
	if got, want := later.Reply(ui.Thousands), "Turn t2 does not involve big.go, which first appears later, in turn t3."; got != want {
		t.Errorf("later:\n got %s\nwant %s", got, want)
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var steps []history.Step
	steps = append(steps, history.Step{Step: "added", Turn: "t1", Note: "the whole\nof it", Before: n(900), After: n(900)})
	for _, call := range []string{"c0", "c1", "c2", "c3", "c4"} {
		turn := "t2"
		if call == "c0" {
			turn = "t1"
		}
		score := 0.75
		steps = append(steps,
			history.Step{Step: "available", Turn: turn, Record: "surface-" + call, Position: n(4)},
			history.Step{Step: "selected", Turn: turn, Call: call, Record: "selection-" + call, StandIn: "surface-" + call, Rank: n(2), Score: &score, Signals: map[string]float64{"recency": 0.5, "match": 1}, Before: n(900), After: n(900), Policy: "ladder"},
			history.Step{Step: "assembled", Turn: turn, Call: call, Record: "assembly-" + call, Position: n(3), Before: n(900), After: n(900)},
			history.Step{Step: "injected", Turn: turn, Call: call, Record: "injection-" + call, Note: "window", Position: n(3)})
	}
	steps = append(steps,
		history.Step{Step: "elided", Record: "pass-1", Note: "offloaded", Before: n(900), After: n(12), StandIn: "file:big.go", Policy: "every_turn"},
		history.Step{Step: "omitted", Call: "c5", Record: "selection-c5", Reason: "stale", Before: n(12), After: n(12)},
		history.Step{Step: "compacted", Turn: "t3", Record: "compact-1", StandIn: "summary-1", Note: "line numbers", Before: n(5000), After: n(90)},
		history.Step{Step: "redacted", Turn: "t3", Record: "redaction-1", Note: "masked", Reason: "secret", Policy: "no-secrets"},
		history.Step{Step: "missing detected", Turn: "t3", Record: "gap-1", Reason: "open", Note: "what is in it?", Policy: "high", StandIn: "alice"})
	w := way("", steps...)
	var b strings.Builder
	if err := w.Draw(&b, 80); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "way_80.txt")
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
}
