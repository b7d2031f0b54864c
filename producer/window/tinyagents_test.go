package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

// elsewhere says where the cases belong that are not this package's, and which
// differ by the seed's will (see the package comment).
var elsewhere = map[string]string{
	"T001": "run context: producer", "T002": "run context: producer", "T006": "run context: producer",
	"T007": "run context: producer", "T008": "run context: producer", "T009": "run context: producer",
	"T010": "run context: producer", "T011": "run context: producer", "T012": "run context: producer",
	"T013": "run context: producer", "T015": "run context: producer", "T016": "run context: producer",
	"T020": "the tokenizer counts text; a provider's framing is the caller's",
	"T021": "the tokenizer counts text; what counts is the caller's",
	"T022": "the tokenizer counts text; images are the caller's",
	"T023": "usage: producer", "T024": "usage: producer", "T025": "usage: producer",
	"T026": "cost: producer", "T027": "cost: producer", "T028": "cost: producer",
	"T044": "spending limits: producer", "T045": "spending limits: producer", "T046": "spending limits: producer",
	"T049": "redact", "T050": "redact", "T053": "tool exposure: producer", "T054": "tool exposure: producer",
}

// tiny are the cases of tinyagents.json that the ladder answers, each with how
// far seed and code agree.
var tiny = map[string]func(*testing.T, tinyCase){
	"T017": testEstimate,
	"T030": testTrigger,
	"T031": testSummarizeSplit,
	"T032": testNoOrphan,
	"T033": func(t *testing.T, c tinyCase) { checkTrim(t, c, window.Policy{TrimKeepLast: 1}, "sys", "second") },
	"T034": func(t *testing.T, c tinyCase) {
		checkTrim(t, c, window.Policy{TrimKeepFirst: 1, TrimKeepLast: 1}, "sys", "u1", "u4")
	},
	"T035": testSystemStays,
	"T037": testSummaryProvenance,
	"T038": testNoPressure,
	"T039": testSummaryUnderPressure,
	"T040": testSummaryPlace,
	"T041": testFailingSummarizer,
	"T042": testCompact,
	"T043": testCompactGates,
}

type tinyCase struct {
	ID     string
	Input  json.RawMessage
	Expect json.RawMessage
}

func TestTinyAgents(t *testing.T) {
	t.Parallel()
	var file struct{ Cases []tinyCase }
	vectors(t, "tinyagents.json", &file)
	for _, c := range file.Cases {
		if elsewhere[c.ID] != "" {
			continue
		}
		check := tiny[c.ID]
		if check == nil {
			t.Errorf("%s has no test", c.ID)
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			check(t, c)
		})
	}
	if len(tiny)+len(elsewhere) != len(file.Cases) {
		t.Errorf("%d here, %d elsewhere, %d cases", len(tiny), len(elsewhere), len(file.Cases))
	}
}

func read[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// messages turns "U:text" into items of 100 tokens, named by their text; what
// follows a tool's letter is the call id.
func messages(list []string) []window.Item {
	var out []window.Item
	for _, m := range list {
		letter, text, _ := strings.Cut(m, ":")
		it := window.Item{ID: text, Kind: window.KindMessage, Tokens: 100}
		switch letter {
		case "S":
			it.Role = window.RoleSystem
		case "U":
			it.Role = window.RoleUser
		case "A":
			it.Role = window.RoleAssistant
			if id, ok := strings.CutPrefix(text, "call "); ok {
				it.Kind, it.CallIDs = window.KindToolCall, []string{id}
			}
		case "T":
			id, _, _ := strings.Cut(text, " ")
			it.Role, it.Kind, it.CallIDs = window.RoleTool, window.KindToolResult, []string{id}
		}
		out = append(out, it)
	}
	return out
}

func input(t *testing.T, c tinyCase) []window.Item {
	return messages(read[struct{ Messages []string }](t, c.Input).Messages)
}

func summary(r window.Request) ([]window.Replacement, error) {
	return []window.Replacement{{ID: "<summary>", After: 10}}, nil
}

func only(step window.Step, p window.Policy) window.Policy {
	p.Steps = []window.Step{step}
	return p
}

func names(items []window.Item) []string {
	var out []string
	for _, it := range items {
		out = append(out, it.ID)
	}
	return out
}

func testEstimate(t *testing.T, c tinyCase) {
	texts, want := read[[]string](t, c.Input), read[[]int](t, c.Expect)
	for i, text := range texts {
		if got := window.EstimateChars(text); got != want[i] {
			t.Errorf("%d characters: %d, want %d", len(text), got, want[i])
		}
	}
}

// testTrigger: the seed asks whether the request fits, so what equals the budget
// fits; there it does not.
func testTrigger(t *testing.T, c tinyCase) {
	in := read[struct {
		Budget int
		Tokens []int
	}](t, c.Input)
	there := read[[]bool](t, c.Expect)
	for i, n := range in.Tokens {
		plan, _ := window.Fit([]window.Item{{ID: "a", Kind: window.KindFixed, Tokens: n}}, window.Budget{MaxTokens: in.Budget}, window.Policy{}, nil)
		if want := there[i] && n != in.Budget; plan.Pressed != want {
			t.Errorf("%d of %d: pressed %v, want %v", n, in.Budget, plan.Pressed, want)
		}
	}
}

func testSummarizeSplit(t *testing.T, c tinyCase) {
	plan, err := window.Fit(input(t, c), window.Budget{MaxTokens: 310}, only(window.SummarizeMessages, window.Policy{SummarizeKeepLast: 2}), summary)
	want := read[struct{ Summarize, Keep []string }](t, c.Expect)
	if err != nil || !slices.Equal(plan.Selected(), want.Keep) || !slices.Equal(plan.Steps[0].Dropped, want.Summarize) {
		t.Errorf("kept %v, summarised %v: %v", plan.Selected(), plan.Steps[0].Dropped, err)
	}
	for _, o := range plan.Omitted {
		if o.Reason != window.SupersededBySummary || o.ReplacedBy != "<summary>" {
			t.Errorf("%+v", o)
		}
	}
}

func testNoOrphan(t *testing.T, c tinyCase) {
	plan, _ := window.Fit(input(t, c), window.Budget{MaxTokens: 10}, only(window.TrimMessages, window.Policy{TrimKeepLast: 2}), nil)
	// The newest user message is not old, so it stays as well.
	if want := []string{"sys", "weather?", "call c1", "c1 sunny", "done"}; !slices.Equal(names(plan.Window), want) {
		t.Errorf("kept %v", names(plan.Window))
	}
	items := append(input(t, c), messages([]string{"U:thanks", "A:welcome"})...)
	plan, _ = window.Fit(items, window.Budget{MaxTokens: 10}, only(window.TrimMessages, window.Policy{TrimKeepLast: 4}), nil)
	if want := []string{"sys", "call c1", "c1 sunny", "done", "thanks", "welcome"}; !slices.Equal(names(plan.Window), want) {
		t.Errorf("kept %v", names(plan.Window))
	}
}

// checkTrim uses the largest budget under which the step has to go all the way.
func checkTrim(t *testing.T, c tinyCase, policy window.Policy, want ...string) {
	plan, err := window.Fit(input(t, c), window.Budget{MaxTokens: 100 * len(want)}, only(window.TrimMessages, policy), nil)
	if err != nil || !slices.Equal(names(plan.Window), want) || !slices.Equal(want, read[[]string](t, c.Expect)) {
		t.Errorf("kept %v: %v", names(plan.Window), err)
	}
}

// testSystemStays: the seed's last resort is an error, not an empty request.
func testSystemStays(t *testing.T, _ tinyCase) {
	plan, err := window.Fit(messages([]string{"S:sys", "U:u1"}), window.Budget{MaxTokens: 1}, window.Policy{}, nil)
	if err == nil || !slices.Equal(names(plan.Window), []string{"sys", "u1"}) {
		t.Errorf("kept %v: %v", names(plan.Window), err)
	}
}

func testSummaryProvenance(t *testing.T, _ tinyCase) {
	plan, err := window.Fit(messages([]string{"S:sys", "U:1", "A:2", "U:3", "U:4"}), window.Budget{MaxTokens: 250},
		only(window.SummarizeMessages, window.Policy{SummarizeKeepLast: 1}), summary)
	r := plan.Steps[0].Replaced
	if err != nil || len(r) != 1 || !slices.Equal(r[0].Of, []string{"1", "2", "3"}) || r[0].Before != 300 || r[0].After != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

func testNoPressure(t *testing.T, _ tinyCase) {
	items := messages([]string{"U:one", "U:two", "U:three"})
	plan, err := window.Fit(items, window.Budget{MaxTokens: 1000}, window.Policy{HighWater: 90}, summary)
	if err != nil || plan.Pressed || len(plan.Window) != 3 || len(plan.Steps) != 5 {
		t.Errorf("%+v, %v", plan, err)
	}
	for _, r := range plan.Steps {
		if r.Outcome != window.Skipped {
			t.Errorf("%+v", r)
		}
	}
}

func testSummaryUnderPressure(t *testing.T, _ tinyCase) {
	items := messages([]string{"U:a", "U:b", "U:c"})
	policy := only(window.SummarizeMessages, window.Policy{HighWater: 50, SummarizeKeepLast: 1})
	plan, err := window.Fit(items, window.Budget{MaxTokens: 300}, policy, summary)
	if err != nil || len(plan.Window) != 2 || plan.Window[0].Kind != window.KindSummary || plan.Window[0].Role != window.RoleSystem {
		t.Errorf("%+v, %v", plan.Window, err)
	}
	larger := func(r window.Request) ([]window.Replacement, error) {
		return []window.Replacement{{ID: "s", After: r.Tokens + 1}}, nil
	}
	plan, _ = window.Fit(items, window.Budget{MaxTokens: 300}, policy, larger)
	if len(plan.Window) != 3 || plan.Steps[0].Outcome != window.Failed {
		t.Errorf("a larger summary was applied: %+v", plan.Steps[0])
	}
}

func testSummaryPlace(t *testing.T, c tinyCase) {
	plan, err := window.Fit(input(t, c), window.Budget{MaxTokens: 250}, only(window.SummarizeMessages, window.Policy{SummarizeKeepLast: 1}), summary)
	if err != nil || !slices.Equal(names(plan.Window), read[[]string](t, c.Expect)) {
		t.Errorf("window %v: %v", names(plan.Window), err)
	}
}

// testFailingSummarizer: what comes next is the policy's next step; falling back
// to trimming is a matter of order, and passing on what does not fit is not on.
func testFailingSummarizer(t *testing.T, _ tinyCase) {
	items := messages([]string{"U:1", "U:2", "U:3"})
	fails := func(window.Request) ([]window.Replacement, error) { return nil, fmt.Errorf("down") }
	fallback := window.Policy{Steps: []window.Step{window.SummarizeMessages, window.TrimMessages}}
	plan, err := window.Fit(items, window.Budget{MaxTokens: 100}, fallback, fails)
	if err != nil || plan.Steps[0].Outcome != window.Failed || plan.Steps[1].Outcome != window.Applied || len(plan.Window) != 1 {
		t.Errorf("fallback: %+v, %v", plan.Steps, err)
	}
	plan, err = window.Fit(items, window.Budget{MaxTokens: 100}, only(window.SummarizeMessages, window.Policy{}), fails)
	if err == nil || plan.Steps[0].Outcome != window.Failed || plan.Steps[1].Outcome != window.Failed {
		t.Errorf("abort: %+v, %v", plan.Steps, err)
	}
}

func testCompact(t *testing.T, c tinyCase) {
	items := input(t, c)
	plan, err := window.Fit(items, window.Budget{MaxTokens: 420}, only(window.CompactToolOutputs, window.Policy{CompactKeepLast: 1, CompactStubTokens: 8}), nil)
	if err != nil || len(plan.Window) != len(items) || len(plan.Omitted) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for i, want := range []int{100, 100, 8, 100, 8, 100} {
		if it := plan.Window[i]; it.Tokens != want || !slices.Equal(it.CallIDs, items[i].CallIDs) {
			t.Errorf("%d: %+v, want %d tokens", i, it, want)
		}
	}
}

func testCompactGates(t *testing.T, _ tinyCase) {
	tools := messages([]string{"T:1 a", "T:2 b", "T:3 c"})
	for name, c := range map[string]struct {
		items    []window.Item
		keep     int
		max      int
		replaced int
	}{
		"all within keep_recent": {tools[:2], 5, 10, 0},
		"below the budget":       {tools, 1, 100_000, 0},
		"above the budget":       {tools, 1, 10, 2},
	} {
		policy := only(window.CompactToolOutputs, window.Policy{CompactKeepLast: c.keep, CompactStubTokens: 8})
		plan, _ := window.Fit(c.items, window.Budget{MaxTokens: c.max}, policy, nil)
		if len(plan.Steps[0].Replaced) != c.replaced {
			t.Errorf("%s: %+v", name, plan.Steps[0])
		}
		again, _ := window.Fit(plan.Window, window.Budget{MaxTokens: c.max}, policy, nil)
		if len(again.Steps[0].Replaced) != 0 {
			t.Errorf("%s: compacting again: %+v", name, again.Steps[0])
		}
	}
}
