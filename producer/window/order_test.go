package window_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

// TestDropOrder: the lowest priority leaves first, then the last one, and no more than
// needed. Essential, pinned and paired context stays.
func TestDropOrder(t *testing.T) {
	t.Parallel()
	doc := func(id string, priority int) window.Item {
		return window.Item{ID: id, Kind: window.KindRetrieved, Tokens: 10, Priority: priority}
	}
	essential, pinned, paired := doc("essential", -9), doc("pinned", -9), doc("paired", -9)
	essential.Essential, pinned.Pinned, paired.CallIDs = true, true, []string{"c"}
	call := window.Item{ID: "call", Kind: window.KindToolCall, Tokens: 10, CallIDs: []string{"c"}}
	items := []window.Item{doc("a", 1), doc("b", 0), doc("c", 0), essential, pinned, paired, call}
	for limit, want := range map[int][]string{
		70: nil, 69: {"c"}, 60: {"c"}, 59: {"c", "b"}, 50: {"c", "b"}, 49: {"c", "b", "a"}, 40: {"c", "b", "a"}, 9: {"c", "b", "a"},
	} {
		plan, _ := window.Fit(items, window.Budget{MaxTokens: limit}, window.Policy{Steps: []window.Step{window.DropRetrieved}}, nil)
		if !slices.Equal(plan.Steps[0].Dropped, want) {
			t.Errorf("limit %d: dropped %v, want %v", limit, plan.Steps[0].Dropped, want)
		}
		for _, o := range plan.Omitted {
			if tooLarge := limit < 10; tooLarge != (o.Reason == window.TooLarge) {
				t.Errorf("limit %d: %+v", limit, o)
			}
		}
	}
}

func TestTrimStopsWhenItFits(t *testing.T) {
	t.Parallel()
	items := messages([]string{"U:1", "A:2", "U:3", "A:4", "U:5"})
	plan, err := window.Fit(items, window.Budget{MaxTokens: 350}, window.Policy{}, nil)
	if err != nil || !slices.Equal(plan.Steps[1].Dropped, []string{"1", "2"}) {
		t.Errorf("dropped %v: %v", plan.Steps[1].Dropped, err)
	}
}

// TestRequest: the runtime gets the size that would be enough, and cannot change the plan
// through its arguments.
func TestRequest(t *testing.T) {
	t.Parallel()
	items := messages([]string{"S:sys", "U:1", "A:2", "U:3"})
	var asked window.Request
	plan, err := window.Fit(items, window.Budget{MaxTokens: 250}, window.Policy{TrimKeepLast: 9, SummarizeKeepLast: 1},
		func(r window.Request) ([]window.Replacement, error) {
			asked = window.Request{Step: r.Step, Tokens: r.Tokens, Target: r.Target, Source: slices.Clone(r.Source)}
			r.Source[0] = "changed"
			return []window.Replacement{{ID: "s", After: r.Target}}, nil
		})
	if err != nil || asked.Target != 50 || asked.Tokens != 200 || !slices.Equal(asked.Source, []string{"1", "2"}) || plan.TokensAfter != 250 {
		t.Errorf("asked %+v, %d tokens, %v", asked, plan.TokensAfter, err)
	}
	if !slices.Equal(plan.Steps[2].Replaced[0].Of, []string{"1", "2"}) {
		t.Errorf("the runtime changed the plan: %v", plan.Steps[2].Replaced)
	}
	paired := messages([]string{"T:c1 x"})
	plan, _ = window.Fit(paired, window.Budget{MaxTokens: 250}, window.Policy{}, nil)
	plan.Window[0].CallIDs[0] = "changed"
	if paired[0].CallIDs[0] != "c1" {
		t.Error("the plan shares memory with its input")
	}
}

func TestPanicIsNamed(t *testing.T) {
	t.Parallel()
	plan, _ := window.Fit(messages([]string{"A:1", "U:2"}), window.Budget{MaxTokens: 100},
		window.Policy{Steps: []window.Step{window.SummarizeMessages}},
		func(window.Request) ([]window.Replacement, error) { panic("x") })
	if got := plan.Steps[0].Note; got != "the runtime's function panicked" {
		t.Errorf("note %q", got)
	}
}

// TestElisionKeepsNewerResults: one message made two calls, and one result is
// newer than the boundary, so the whole call must not go.
func TestElisionKeepsNewerResults(t *testing.T) {
	t.Parallel()
	items := []window.Item{
		{ID: "calls", Kind: window.KindToolCall, Tokens: 10, CallIDs: []string{"a", "b"}},
		{ID: "old", Kind: window.KindToolResult, Tokens: 100, CallIDs: []string{"a"}},
		{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
		{ID: "new", Kind: window.KindToolResult, Tokens: 100, CallIDs: []string{"b"}},
	}
	for _, c := range []struct {
		style window.Style
		want  int
	}{
		{window.Style{Level: window.Trivial}, 0},
		{window.Style{Level: window.Simple, StubTokens: 5}, 1},
		{window.Style{Level: window.Simple, StubTokens: 5, WholeCalls: true}, 1},
	} {
		pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), c.style)
		if err != nil || len(pass.Elided) != c.want || len(pass.Window) != len(items) {
			t.Errorf("%+v: %+v, %v", c.style, pass.Elided, err)
		}
	}
}

// TestBreakEven checks the vectors' formula, K* = 11.5*penalty/(r-s).
func TestBreakEven(t *testing.T) {
	t.Parallel()
	rates := window.DefaultCacheRates()
	for _, c := range []struct {
		penalty, saved int
		want           float64
		ok             bool
	}{{80, 17980, 11.5 * 80 / 17980, true}, {18015, 2985, 11.5 * 18015 / 2985, true}, {0, 0, 0, true}, {10, 0, 0, false}} {
		got, ok := rates.BreakEven(c.penalty, c.saved)
		if ok != c.ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d, %d: %v, %v; want %v", c.penalty, c.saved, got, ok, c.want)
		}
	}
	if _, ok := (window.CacheRates{Write: 1}).BreakEven(10, 10); ok {
		t.Error("it pays where reading is free")
	}
	if got := (window.Reuse{Recomputed: 90}).Penalty(10); got != 80 {
		t.Errorf("penalty %d", got)
	}
}

// TestTrimStartsOnARole: a trimmed conversation begins with the role, so more items may
// leave than the budget requires. A conversation that fits is not trimmed.
func TestTrimStartsOnARole(t *testing.T) {
	t.Parallel()
	items := messages([]string{"S:sys", "U:1", "A:call c1", "T:c1 sunny", "A:4", "U:5", "A:6", "U:7"})
	for _, c := range []struct {
		start string
		limit int
		want  []string
	}{
		{"", 700, []string{"1"}},
		{window.RoleUser, 800, nil},
		{window.RoleUser, 700, []string{"1", "call c1", "c1 sunny", "4"}},
		{window.RoleAssistant, 700, []string{"1"}},
		{window.RoleAssistant, 300, []string{"1", "call c1", "c1 sunny", "4", "5"}},
		{window.RoleTool, 700, []string{"1", "call c1", "c1 sunny", "4", "5", "6"}}, // no unit begins with a tool message
	} {
		policy := only(window.TrimMessages, window.Policy{TrimStartOn: c.start})
		plan, err := window.Fit(items, window.Budget{MaxTokens: c.limit}, policy, nil)
		if !slices.Equal(plan.Steps[0].Dropped, c.want) || err != nil {
			t.Errorf("%q in %d: dropped %q, want %q: %v", c.start, c.limit, plan.Steps[0].Dropped, c.want, err)
		}
		for i, o := range plan.Omitted {
			if behind := c.start == window.RoleUser && i > 0; behind != (o.Note != "") {
				t.Errorf("%q in %d: %+v", c.start, c.limit, o)
			}
			if c.start == window.RoleTool {
				break
			}
		}
	}
	if _, err := window.Fit(items, window.Budget{MaxTokens: 100}, window.Policy{TrimStartOn: "system"}, nil); err == nil {
		t.Error("system is taken for a role of the conversation")
	}
}

// TestTriggerTokens: the lower of both marks counts, and never more than the limit.
func TestTriggerTokens(t *testing.T) {
	t.Parallel()
	items := messages([]string{"U:1", "U:2", "U:3", "U:4"})
	for _, c := range []struct{ high, trigger, left int }{
		{0, 0, 4}, {0, 400, 4}, {0, 399, 3}, {0, 250, 2}, {50, 300, 2}, {75, 200, 2}, {90, 5000, 3},
	} {
		plan, err := window.Fit(items, window.Budget{MaxTokens: 400}, window.Policy{HighWater: c.high, TriggerTokens: c.trigger}, nil)
		if err != nil || len(plan.Window) != c.left || plan.Pressed != (c.left < 4) {
			t.Errorf("%+v: %d left, %v", c, len(plan.Window), err)
		}
	}
	if _, err := window.Fit(items, window.Budget{MaxTokens: 400}, window.Policy{TriggerTokens: -1}, nil); err == nil {
		t.Error("a negative number is taken")
	}
}
