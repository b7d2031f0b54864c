package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

// elsewhere names the packages for the cases outside of this package, and the cases that
// are refused on purpose.
var elsewhere = map[string]string{
	"run_config": "package producer", "child_config": "package producer", "lineage": "package producer", "no_mutation": "package producer",
	"limits": "package producer", "usage": "package producer", "budget": "package producer", "exposure": "package producer",
	"cost": "package ledger/read", "redaction": "package redact",
	"T020": "refused: a Counter counts the text of an item, and the framing of a message is the provider's",
	"T021": "refused: a Counter counts the text that it is given, so an artifact that is not sent has no tokens",
	"T022": "refused: an image has the tokens that its caller says, since each provider has its own rule",
}

// tiny lists the cases of tinyagents.json for the ladder, each with the agreement of seed
// and code.
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
	ID, Group     string
	Input, Expect json.RawMessage
}

func TestTinyAgents(t *testing.T) {
	t.Parallel()
	var file struct{ Cases []tinyCase }
	vectors(t, "tinyagents.json", &file)
	played := 0
	for _, c := range file.Cases {
		if elsewhere[c.ID] != "" || elsewhere[c.Group] != "" {
			continue
		}
		played++
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
	if played != len(tiny) {
		t.Errorf("%d cases were played of %d", played, len(tiny))
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

// messages turns "U:text" into items of 100 tokens with the text as id. The text after a
// tool's letter is the call id.
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

// testTrigger: the seed asks whether the request fits, so a request equal to the budget
// fits. In the vector it does not.
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
	// The newest user message is not old, so it stays.
	if want := []string{"sys", "weather?", "call c1", "c1 sunny", "done"}; !slices.Equal(names(plan.Window), want) {
		t.Errorf("kept %v", names(plan.Window))
	}
	items := append(input(t, c), messages([]string{"U:thanks", "A:welcome"})...)
	plan, _ = window.Fit(items, window.Budget{MaxTokens: 10}, only(window.TrimMessages, window.Policy{TrimKeepLast: 4}), nil)
	if want := []string{"sys", "call c1", "c1 sunny", "done", "thanks", "welcome"}; !slices.Equal(names(plan.Window), want) {
		t.Errorf("kept %v", names(plan.Window))
	}
}

// checkTrim uses the largest budget for which the step must do all its work.
func checkTrim(t *testing.T, c tinyCase, policy window.Policy, want ...string) {
	plan, err := window.Fit(input(t, c), window.Budget{MaxTokens: 100 * len(want)}, only(window.TrimMessages, policy), nil)
	if err != nil || !slices.Equal(names(plan.Window), want) || !slices.Equal(want, read[[]string](t, c.Expect)) {
		t.Errorf("kept %v: %v", names(plan.Window), err)
	}
}

// testSystemStays: the case expects an empty request. Refused on purpose: the seed's last
// resort is an error, and the window stays unchanged.
func testSystemStays(t *testing.T, c tinyCase) {
	most := read[struct {
		Max int `json:"max_tokens"`
	}](t, c.Input).Max
	if want := read[[]string](t, c.Expect); len(want) > 0 {
		t.Fatalf("the case expects %v", want)
	}
	plan, err := window.Fit(messages([]string{"S:sys", "U:u1"}), window.Budget{MaxTokens: most}, window.Policy{}, nil)
	if err == nil || !slices.Equal(names(plan.Window), []string{"sys", "u1"}) {
		t.Errorf("kept %v: %v", names(plan.Window), err)
	}
}

// testSummaryProvenance: sources are item ids, which stay equal over compactions. The case
// has places within the summarized messages.
func testSummaryProvenance(t *testing.T, c tinyCase) {
	want := read[struct {
		Sources []string `json:"source_ids"`
		Before  string   `json:"original_token_estimate"`
		After   string   `json:"summary_token_estimate"`
		Reason  string   `json:"reason_contains"`
	}](t, c.Expect)
	items := messages([]string{"S:sys", "U:msg-0", "A:msg-1", "U:msg-2", "U:4"})
	plan, err := window.Fit(items, window.Budget{MaxTokens: 250}, only(window.SummarizeMessages, window.Policy{SummarizeKeepLast: 1}), summary)
	r := plan.Steps[0].Replaced
	if err != nil || len(r) != 1 || !slices.Equal(r[0].Of, want.Sources) || r[0].Before != 300 || r[0].After != 10 || want.Before != ">0" || want.After != ">0" {
		t.Errorf("%+v, %v", r, err)
	}
	if plan.Steps[0].Step != window.SummarizeMessages || want.Reason == "" { // the step shows that items were summarized
		t.Errorf("%+v", plan.Steps[0])
	}
}

func testNoPressure(t *testing.T, c tinyCase) {
	in := read[struct {
		Window   int
		Frac     float64
		Messages []string
	}](t, c.Input)
	want := read[struct {
		Event    *string
		Messages string
	}](t, c.Expect)
	var items []window.Item
	for _, text := range in.Messages {
		items = append(items, messages([]string{"U:" + text})...)
	}
	plan, err := window.Fit(items, window.Budget{MaxTokens: in.Window}, window.Policy{HighWater: int(100 * in.Frac)}, summary)
	unchanged := slices.Equal(names(plan.Window), in.Messages)
	if err != nil || plan.Pressed != (want.Event != nil) || unchanged != (want.Messages == "unchanged") || len(plan.Steps) != 5 {
		t.Errorf("%+v, %v", plan, err)
	}
	for _, r := range plan.Steps {
		if r.Outcome != window.Skipped {
			t.Errorf("%+v", r)
		}
	}
}

// testSummaryUnderPressure: the items have the sizes of the case, including framing.
// Refused on purpose: a summary that is larger than its source.
func testSummaryUnderPressure(t *testing.T, c tinyCase) {
	in := read[struct {
		Window   int
		Frac     float64
		KeepLast int `json:"keep_last"`
	}](t, c.Input)
	want := read[struct {
		After   int            `json:"messages_after"`
		System  bool           `json:"first_is_system_summary"`
		Sources []string       `json:"source_ids"`
		Events  map[string]int `json:"events"`
		From    int            `json:"from_tokens"`
	}](t, c.Expect)
	items := messages([]string{"U:msg-0", "U:msg-1", "U:msg-2"})
	for i := range items {
		items[i].Tokens = 55
	}
	policy := only(window.SummarizeMessages, window.Policy{HighWater: int(100 * in.Frac), SummarizeKeepLast: in.KeepLast})
	plan, err := window.Fit(items, window.Budget{MaxTokens: in.Window}, policy, summary)
	summarised := len(plan.Window) > 0 && plan.Window[0].Kind == window.KindSummary && plan.Window[0].Role == window.RoleSystem
	step := plan.Steps[0]
	compressed := 0
	for _, s := range plan.Steps {
		compressed += len(s.Replaced)
	}
	if err != nil || len(plan.Window) != want.After || summarised != want.System || plan.TokensBefore != want.From ||
		!slices.Equal(step.Replaced[0].Of, want.Sources) || compressed != want.Events["context.compressed"] {
		t.Errorf("%+v, %v", plan, err)
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

// testFailingSummarizer: after a failure the policy's next step runs. The order of steps
// decides about trimming, and a request that does not fit is never passed on.
func testFailingSummarizer(t *testing.T, c tinyCase) {
	want := read[struct {
		Fallback []string `json:"fallback_trim(default)"`
		Abort    []string
	}](t, c.Expect)
	// outcomes returns the outcomes of the steps in the words of the case.
	outcomes := func(plan window.Plan, err error) (list []string) {
		for _, s := range plan.Steps {
			switch {
			case s.Step == window.SummarizeMessages && s.Outcome == window.Failed:
				list = append(list, "middleware.failed")
			case s.Outcome == window.Applied:
				list = append(list, "context.compressed")
			}
		}
		if err != nil {
			list = append(list, "error")
		}
		return list
	}
	items := messages([]string{"U:1", "U:2", "U:3"})
	fails := func(window.Request) ([]window.Replacement, error) { return nil, fmt.Errorf("down") }
	fallback := window.Policy{Steps: []window.Step{window.SummarizeMessages, window.TrimMessages}}
	plan, err := window.Fit(items, window.Budget{MaxTokens: 100}, fallback, fails)
	if !slices.Equal(outcomes(plan, err), want.Fallback) || len(plan.Window) != 1 {
		t.Errorf("fallback: %+v, %v", plan.Steps, err)
	}
	plan, err = window.Fit(items, window.Budget{MaxTokens: 100}, only(window.SummarizeMessages, window.Policy{}), fails)
	if !slices.Equal(outcomes(plan, err), want.Abort) {
		t.Errorf("abort: %+v, %v", plan.Steps, err)
	}
}

func testCompact(t *testing.T, c tinyCase) {
	items := input(t, c)
	plan, err := window.Fit(items, window.Budget{MaxTokens: 420}, only(window.CompactToolOutputs, window.Policy{CompactKeepLast: 1, CompactStubTokens: 8}), nil)
	if err != nil || len(plan.Window) != len(items) || len(plan.Omitted) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	want := read[map[string]string](t, c.Expect)
	for i, it := range plan.Window {
		body, told := want[fmt.Sprint(i)]
		if cleared := strings.HasPrefix(body, "[Old tool result"); (it.Tokens == 8) != cleared || told && !cleared && !strings.HasSuffix(it.ID, body) {
			t.Errorf("%d: %+v, want %q", i, it, body)
		}
		if !slices.Equal(it.CallIDs, items[i].CallIDs) {
			t.Errorf("%d: call ids %v", i, it.CallIDs)
		}
	}
	if !slices.Equal(plan.Window[2].CallIDs, []string{want["tool_call_id_kept"]}) {
		t.Errorf("%+v", plan.Window[2])
	}
}

// testCompactGates: the last case is refused on purpose, a budget of 0 that disables the
// gate. A window has a limit, and a limit of 0 is refused.
func testCompactGates(t *testing.T, c tinyCase) {
	in := read[[]struct {
		Keep   int `json:"keep_recent"`
		Budget *int
	}](t, c.Input)
	want := read[[]string](t, c.Expect)
	tools := messages([]string{"T:1 a", "T:2 b", "T:3 c"})
	for i, replaced := range []int{0, 0, 2} {
		items, most := tools, 10
		if i == 0 {
			items = tools[:2]
		}
		if in[i].Budget != nil {
			most = *in[i].Budget
		}
		if told := strings.HasPrefix(want[i], "noop"); told != (replaced == 0) {
			t.Fatalf("the case expects %q", want[i])
		}
		policy := only(window.CompactToolOutputs, window.Policy{CompactKeepLast: in[i].Keep, CompactStubTokens: 8})
		plan, _ := window.Fit(items, window.Budget{MaxTokens: most}, policy, nil)
		if len(plan.Steps[0].Replaced) != replaced {
			t.Errorf("%s: %+v", want[i], plan.Steps[0])
		}
		again, _ := window.Fit(plan.Window, window.Budget{MaxTokens: most}, policy, nil)
		if len(again.Steps[0].Replaced) != 0 {
			t.Errorf("%s: compacting again: %+v", want[i], again.Steps[0])
		}
	}
	if _, err := window.Fit(tools, window.Budget{MaxTokens: *in[3].Budget}, only(window.CompactToolOutputs, window.Policy{CompactKeepLast: in[3].Keep, CompactStubTokens: 8}), nil); err == nil {
		t.Error("a budget of 0 is taken")
	}
}
