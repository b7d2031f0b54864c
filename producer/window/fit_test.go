package window_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
	"pgregory.net/rapid"
)

func ExampleFit() {
	items := []window.Item{
		{ID: "sys", Kind: window.KindFixed, Tokens: 12000},
		{ID: "doc", Kind: window.KindRetrieved, Tokens: 3000},
		{ID: "u1", Kind: window.KindMessage, Role: "user", Tokens: 4000},
		{ID: "a1", Kind: window.KindMessage, Role: "assistant", Tokens: 6000},
		{ID: "u2", Kind: window.KindMessage, Role: "user", Tokens: 20},
	}
	summarize := func(r window.Request) ([]window.Replacement, error) {
		return []window.Replacement{{ID: "sum1", After: 600}}, nil
	}
	policy := window.Policy{TrimKeepLast: 10, SummarizeKeepLast: 1}
	plan, err := window.Fit(items, window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}, policy, summarize)
	fmt.Println(plan.TokensBefore, plan.TokensAfter, plan.Selected(), err)
	for _, r := range plan.Steps {
		fmt.Println(r.Number, r.Step, r.Outcome, r.TokensBefore, r.TokensAfter, r.Dropped)
	}
	// Output:
	// 25020 12620 [sys u2] <nil>
	// 1 drop_retrieved insufficient 25020 22020 [doc]
	// 2 trim_messages insufficient 22020 22020 []
	// 3 summarize_messages applied 22020 12620 [u1 a1]
	// 4 compact_tool_outputs skipped 12620 12620 []
	// 5 context_limit skipped 12620 12620 []
}

// candidates draws a random list. Calls and results may be apart, may share ids with
// several items, and may have no partner.
func candidates(t *rapid.T) []window.Item {
	kinds := []window.Kind{window.KindFixed, window.KindRetrieved, window.KindMessage, window.KindMessage,
		window.KindToolCall, window.KindToolResult, window.KindSummary, window.KindStub, "other"}
	n := rapid.IntRange(0, 25).Draw(t, "items")
	items := make([]window.Item, n)
	for i := range items {
		items[i] = window.Item{
			ID:        fmt.Sprint("i", i),
			Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
			Role:      rapid.SampledFrom([]string{"system", "user", "assistant", "tool", ""}).Draw(t, "role"),
			Tokens:    rapid.IntRange(0, 100).Draw(t, "tokens"),
			Priority:  rapid.IntRange(-1, 2).Draw(t, "priority"),
			Essential: rapid.IntRange(0, 5).Draw(t, "essential") == 0,
			Pinned:    rapid.IntRange(0, 9).Draw(t, "pinned") == 0,
		}
		if items[i].Kind == window.KindToolCall || items[i].Kind == window.KindToolResult || i%7 == 0 {
			items[i].CallIDs = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 2).Draw(t, "calls")
		}
		if !items[i].Pinned && rapid.IntRange(0, 15).Draw(t, "excluded") == 0 {
			items[i].Excluded = rapid.SampledFrom(window.Reasons()).Draw(t, "reason")
		}
	}
	return items
}

func policies(t *rapid.T) window.Policy {
	small := rapid.IntRange(0, 6)
	steps := rapid.Permutation(window.Steps()[:4]).Draw(t, "steps")
	return window.Policy{
		Steps:             steps[:rapid.IntRange(0, 4).Draw(t, "listed")],
		HighWater:         rapid.SampledFrom([]int{0, 50, 80, 100}).Draw(t, "high water"),
		TrimKeepFirst:     small.Draw(t, "keep first"),
		TrimKeepLast:      small.Draw(t, "keep last"),
		SummarizeKeepLast: small.Draw(t, "summarize keep last"),
		CompactKeepLast:   small.Draw(t, "compact keep last"),
		CompactStubTokens: rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "stub"),
	}
}

// half answers with replacements of about half the size, for any budget.
func half(sizes map[string]int) window.Work {
	return func(r window.Request) ([]window.Replacement, error) {
		if r.Step == window.SummarizeMessages {
			return []window.Replacement{{ID: "summary", After: r.Tokens / 2}}, nil
		}
		var out []window.Replacement
		for _, id := range r.Source {
			out = append(out, window.Replacement{Of: []string{id}, ID: "stub-" + id, After: sizes[id] / 2})
		}
		return out, nil
	}
}

func TestFitProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items, policy := candidates(t), policies(t)
		frozen, _ := json.Marshal(items)
		sizes := map[string]int{}
		for _, it := range items {
			sizes[it.ID] = it.Tokens
		}
		budget := window.Budget{MaxTokens: rapid.IntRange(2, 1500).Draw(t, "max")}
		budget.ReservedOutput = rapid.IntRange(0, min(50, budget.MaxTokens-1)).Draw(t, "reserved")

		plan, err := window.Fit(items, budget, policy, half(sizes))
		if errors.Is(err, window.ErrInvalid) {
			var bad *window.InvalidError
			if errors.As(err, &bad); !strings.Contains(bad.Problem, "pinned") {
				t.Fatal(err)
			}
			return
		}
		checkLimit(t, plan, err)
		checkConservation(t, items, plan)
		checkPairs(t, items, plan.Window)
		checkPinned(t, items, plan.Window)
		checkSteps(t, plan)

		again, _ := window.Fit(items, budget, policy, half(sizes))
		if !reflect.DeepEqual(plan, again) {
			t.Fatal("the same input gives another plan")
		}
		if now, _ := json.Marshal(items); string(now) != string(frozen) {
			t.Fatal("the input changed")
		}

		larger := budget
		larger.MaxTokens += rapid.IntRange(1, 500).Draw(t, "more")
		roomy, _ := window.Fit(items, larger, policy, half(sizes))
		if roomy.OmittedTokens() > plan.OmittedTokens() || len(roomy.Omitted) > len(plan.Omitted) {
			t.Fatalf("%d tokens omitted of %d, %d of %d", plan.OmittedTokens(), budget.Limit(), roomy.OmittedTokens(), larger.Limit())
		}
	})
}

func checkLimit(t *rapid.T, plan window.Plan, err error) {
	var limit *window.LimitError
	if over := plan.TokensAfter > plan.Limit; over != errors.As(err, &limit) || over != (err != nil) {
		t.Fatalf("%d tokens in %d: %v", plan.TokensAfter, plan.Limit, err)
	}
	if limit != nil && (limit.Tokens != plan.TokensAfter || len(limit.Remaining) != len(plan.Window)) {
		t.Fatalf("%+v", limit)
	}
}

func checkConservation(t *rapid.T, items []window.Item, plan window.Plan) {
	state := map[string]int{}
	for _, id := range plan.Selected() {
		state[id]++
	}
	for _, o := range plan.Omitted {
		state[o.ID]++
		if !o.Reason.Valid() {
			t.Fatalf("omission %+v", o)
		}
	}
	for _, it := range items {
		if state[it.ID] != 1 {
			t.Fatalf("%s is selected or omitted %d times", it.ID, state[it.ID])
		}
	}
	if len(state) != len(items) {
		t.Fatalf("%d accounted for, %d candidates", len(state), len(items))
	}
	sum, at := 0, -1
	for _, it := range plan.Window {
		sum += it.Tokens
		if i := slices.IndexFunc(items, func(c window.Item) bool { return c.ID == it.ID }); i >= 0 {
			if i <= at {
				t.Fatal("the order changed")
			}
			at = i
		}
	}
	if sum != plan.TokensAfter {
		t.Fatalf("the window has %d tokens, the plan says %d", sum, plan.TokensAfter)
	}
}

func normal(it window.Item) window.Item {
	it.CallIDs = append([]string{}, it.CallIDs...)
	return it
}

// checkPairs checks that the items of a tool call are all present or all absent.
func checkPairs(t *rapid.T, items, after []window.Item) {
	there := map[string]bool{}
	for _, it := range after {
		there[it.ID] = true
	}
	for i, a := range items {
		for _, b := range items[i+1:] {
			// An elided stub may replace a whole call.
			stands := slices.ContainsFunc(after, func(it window.Item) bool {
				return (it.ID == a.ID || it.ID == b.ID) && it.Kind == window.KindStub
			})
			if there[a.ID] != there[b.ID] && !stands && slices.ContainsFunc(a.CallIDs, func(c string) bool { return slices.Contains(b.CallIDs, c) }) {
				t.Fatalf("%s and %s share a call and were split", a.ID, b.ID)
			}
		}
	}
}

func checkPinned(t *rapid.T, items, after []window.Item) {
	for _, it := range items {
		if it.Pinned && !slices.ContainsFunc(after, func(w window.Item) bool { return reflect.DeepEqual(normal(w), normal(it)) }) {
			t.Fatalf("%s is pinned and gone or changed", it.ID)
		}
	}
}

func checkSteps(t *rapid.T, plan window.Plan) {
	tokens := plan.TokensBefore
	for _, r := range plan.Steps {
		if r.TokensBefore != tokens || r.TokensAfter > tokens || r.Number != r.Step.Number() {
			t.Fatalf("step %+v after %d tokens", r, tokens)
		}
		if changed := r.TokensAfter != tokens; changed && r.Outcome == window.Skipped || r.Outcome == window.Applied && r.TokensAfter > plan.Target {
			t.Fatalf("outcome of %+v", r)
		}
		tokens = r.TokensAfter
	}
	if last := plan.Steps[len(plan.Steps)-1]; last.Step != window.ContextLimit || tokens != plan.TokensAfter {
		t.Fatalf("ends with %+v", last)
	}
	if pressed := plan.Steps[0].Outcome != window.Skipped; pressed && !plan.Pressed {
		t.Fatal("a step ran without pressure")
	}
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	good := window.Budget{MaxTokens: 10}
	one := func(it window.Item) []window.Item { return []window.Item{it} }
	for name, c := range map[string]struct {
		items  []window.Item
		budget window.Budget
		policy window.Policy
	}{
		"no budget":           {nil, window.Budget{}, window.Policy{}},
		"negative reserve":    {nil, window.Budget{MaxTokens: 1, ReservedOutput: -1}, window.Policy{}},
		"all reserved":        {nil, window.Budget{MaxTokens: 5, ReservedOutput: 5}, window.Policy{}},
		"no id":               {one(window.Item{}), good, window.Policy{}},
		"id twice":            {[]window.Item{{ID: "a"}, {ID: "a"}}, good, window.Policy{}},
		"negative tokens":     {one(window.Item{ID: "a", Tokens: -1}), good, window.Policy{}},
		"overflow":            {[]window.Item{{ID: "a", Tokens: math.MaxInt}, {ID: "b", Tokens: 1}}, good, window.Policy{}},
		"unknown reason":      {one(window.Item{ID: "a", Excluded: "because"}), good, window.Policy{}},
		"unknown step":        {nil, good, window.Policy{Steps: []window.Step{"pray"}}},
		"step twice":          {nil, good, window.Policy{Steps: []window.Step{window.TrimMessages, window.TrimMessages}}},
		"limit in the middle": {nil, good, window.Policy{Steps: []window.Step{window.ContextLimit, window.TrimMessages}}},
		"negative keep":       {nil, good, window.Policy{TrimKeepLast: -1}},
		"high water":          {nil, good, window.Policy{HighWater: 101}},
		"half a pinned pair": {[]window.Item{{ID: "a", CallIDs: []string{"c"}, Pinned: true},
			{ID: "b", CallIDs: []string{"c"}, Excluded: window.Stale}}, good, window.Policy{}},
	} {
		plan, err := window.Fit(c.items, c.budget, c.policy, nil)
		var typed *window.InvalidError
		if !errors.As(err, &typed) || !errors.Is(err, window.ErrInvalid) || !reflect.DeepEqual(plan, window.Plan{}) {
			t.Errorf("%s: %v, %+v", name, err, plan)
		}
	}
}

// TestBadWork gives the ladder every wrong answer of a summarizer.
func TestBadWork(t *testing.T) {
	t.Parallel()
	items := []window.Item{
		{ID: "u1", Kind: window.KindMessage, Role: "user", Tokens: 50},
		{ID: "a1", Kind: window.KindMessage, Role: "assistant", Tokens: 50},
		{ID: "r1", Kind: window.KindToolResult, Role: "tool", Tokens: 50},
		{ID: "u2", Kind: window.KindMessage, Role: "user", Tokens: 10},
	}
	policy := window.Policy{Steps: []window.Step{window.SummarizeMessages, window.CompactToolOutputs}}
	sum := func(r ...window.Replacement) window.Work {
		return func(window.Request) ([]window.Replacement, error) { return r, nil }
	}
	for name, work := range map[string]window.Work{
		"nil":             nil,
		"error":           func(window.Request) ([]window.Replacement, error) { return nil, errors.New("with secret content") },
		"panic":           func(window.Request) ([]window.Replacement, error) { panic("with secret content") },
		"none":            sum(),
		"two":             sum(window.Replacement{ID: "s1"}, window.Replacement{ID: "s2"}),
		"as large":        sum(window.Replacement{ID: "s", Of: []string{"r1"}, After: 150}),
		"no size":         sum(window.Replacement{ID: "s", Of: []string{"r1"}}),
		"negative":        sum(window.Replacement{ID: "s", Of: []string{"r1"}, After: -1}),
		"no id":           sum(window.Replacement{After: 1}),
		"an item's id":    sum(window.Replacement{ID: "u2", After: 1}),
		"changes request": func(r window.Request) ([]window.Replacement, error) { r.Source[0] = "x"; return nil, nil },
	} {
		plan, err := window.Fit(items, window.Budget{MaxTokens: 100}, policy, work)
		var limit *window.LimitError
		if !errors.As(err, &limit) || plan.TokensAfter != 160 || len(plan.Omitted) != 0 {
			t.Errorf("%s: %v, %+v", name, err, plan)
		}
		for _, r := range plan.Steps[:2] {
			if r.Outcome != window.Failed || r.Note == "" || strings.Contains(r.Note, "secret") {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// TestCompactedTwice: two answers for one output are both refused, and the others are used.
func TestCompactedTwice(t *testing.T) {
	t.Parallel()
	items := []window.Item{
		{ID: "r1", Kind: window.KindToolResult, Role: "tool", Tokens: 50},
		{ID: "r2", Kind: window.KindToolResult, Role: "tool", Tokens: 50},
		{ID: "r3", Kind: window.KindToolResult, Role: "tool", Tokens: 50},
	}
	to := func(id string, size int) window.Replacement {
		return window.Replacement{Of: []string{id}, ID: "short " + id, After: size}
	}
	plan, _ := window.Fit(items, window.Budget{MaxTokens: 20}, window.Policy{Steps: []window.Step{window.CompactToolOutputs}},
		func(window.Request) ([]window.Replacement, error) {
			return []window.Replacement{to("r1", 5), to("r1", 4), to("r2", 3), to("r3", 0), to("elsewhere", 1), {After: 1}}, nil
		})
	step := plan.Steps[0]
	if len(step.Replaced) != 1 || step.Replaced[0].ID != "short r2" || step.Outcome != window.Insufficient || step.TokensAfter != 103 || step.Note == "" {
		t.Errorf("%+v", step)
	}
}

// TestNamedFailures: the note names the errors of the SDK's time limit and recovery.
func TestNamedFailures(t *testing.T) {
	t.Parallel()
	for _, want := range []error{window.ErrWorkPanicked, window.ErrWorkTimeout, window.ErrNoWork} {
		plan, _ := window.Fit(messages([]string{"A:1", "U:2"}), window.Budget{MaxTokens: 100},
			window.Policy{Steps: []window.Step{window.SummarizeMessages}},
			func(window.Request) ([]window.Replacement, error) { return nil, fmt.Errorf("secret: %w", want) })
		if got := plan.Steps[0]; got.Outcome != window.Failed || got.Note != want.Error() {
			t.Errorf("%+v", got)
		}
	}
}

func TestLimitErrorNamesWhatRemained(t *testing.T) {
	t.Parallel()
	var items []window.Item
	for i := range 12 {
		items = append(items, window.Item{ID: fmt.Sprint("f", i), Kind: window.KindFixed, Tokens: i})
	}
	_, err := window.Fit(items, window.Budget{MaxTokens: 50, ReservedOutput: 10}, window.Policy{}, nil)
	want := "context limit: 66 tokens do not fit in 40 (50 less 10 reserved for output); remaining items: " +
		"f11 (11), f10 (10), f9 (9), f8 (8), f7 (7), f6 (6), f5 (5), f4 (4), and 4 more"
	if err == nil || err.Error() != want || !errors.Is(err, window.ErrContextLimit) {
		t.Errorf("got %v", err)
	}
}

func TestReasonsAreTheStandards(t *testing.T) {
	t.Parallel()
	var file struct {
		Enums struct {
			OmissionReason []window.Reason `json:"omission_reason"`
		}
	}
	vectors(t, "actx.json", &file)
	if !slices.Equal(file.Enums.OmissionReason, window.Reasons()) {
		t.Errorf("the standard has %v", file.Enums.OmissionReason)
	}
}

func FuzzFit(f *testing.F) {
	f.Add(`[{"ID":"a","Kind":"message","Role":"user","Tokens":5}]`, 10, 2, 1)
	f.Add(`[{"ID":"a","Kind":"tool_call","Tokens":5,"CallIDs":["c"]},{"ID":"b","Kind":"tool_result","Tokens":500,"CallIDs":["c"]}]`, 100, 0, 0)
	f.Fuzz(func(t *testing.T, list string, size, reserved, keep int) {
		var items []window.Item
		if json.Unmarshal([]byte(list), &items) != nil {
			return
		}
		plan, err := window.Fit(items, window.Budget{MaxTokens: size, ReservedOutput: reserved},
			window.Policy{TrimKeepLast: keep, SummarizeKeepLast: keep, CompactStubTokens: 1}, nil)
		if errors.Is(err, window.ErrInvalid) {
			return
		}
		if len(plan.Selected())+len(plan.Omitted) != len(items) || (plan.TokensAfter > plan.Limit) != (err != nil) {
			t.Fatalf("%d selected, %d omitted of %d: %v", len(plan.Selected()), len(plan.Omitted), len(items), err)
		}
	})
}
