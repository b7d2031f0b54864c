package producer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// noeticCase is one of shared/vectors/noetic.json.
type noeticCase struct {
	ID     string          `json:"id"`
	Group  string          `json:"group"`
	Input  json.RawMessage `json:"input"`
	Expect struct {
		OK     bool            `json:"ok"`
		Value  json.RawMessage `json:"value"`
		Detail json.RawMessage `json:"detail"`
	} `json:"expect"`
}

// noeticElsewhere lists groups or single cases outside of seed 003, and cases with another
// result in the seed, each with the reason.
var noeticElsewhere = map[string]string{
	"estimate_tokens":  "tokens are counted with the model's tokenizer; a quarter of the characters is window.EstimateChars, by the rule of tinyagents",
	"allocate_budgets": "how a runtime divides its window among layers before it fills them is the runtime's; seed 003 has no rule",
	"cache_config":     "settings of noetic's cache anchoring",
	"cache_outcome":    "a judgement of noetic's cache anchoring; what it needs, a reported zero apart from an unknown, is recorded",
	"reanchor_reason":  "a decision of noetic's cache anchoring",
	"churn_rate":       "a figure of noetic's cache anchoring; the facts say of each call which layers changed",
	"assemble_view":    "the order of noetic's bands, and a window by number of messages; package window has its own policies",
	"N029":             "null is no item type: does not compile",
	"N030":             "a string is no content: does not compile",
	"N031":             "a number is no item type: does not compile",
	"N034":             "the seed has four types and prefix:name; this would be openai:image_generation_call",
}

func noeticCases(t *testing.T) []noeticCase {
	t.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	data, err := os.ReadFile(filepath.Join(shared, "vectors", "noetic.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []noeticCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

func TestNoeticVectors(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, noeticCase){
		"layer_usage": noeticLayers, "track_usage": noeticUsage, "item_schema": noeticItem, "check_budget": noeticBudget, "lineage_key": noeticLineage,
	}
	ran := 0
	for _, c := range noeticCases(t) {
		if noeticElsewhere[c.Group] != "" || noeticElsewhere[c.ID] != "" {
			continue
		}
		test := tests[c.Group]
		if test == nil {
			t.Errorf("%s: nobody tests the group %s", c.ID, c.Group)
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) { test(t, c) })
	}
	if ran != 24 {
		t.Errorf("%d cases ran, not 24", ran)
	}
}

func decoded[T any](t *testing.T, data json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// noeticLayers sends the recalled items of the case with the reported sizes, and compares
// the fact with the sums. Here layers of one name are one, in the window's order. Items,
// placement, churn and epochs belong only to noetic.
func noeticLayers(t *testing.T, c noeticCase) {
	type layer struct {
		ID     string `json:"layerId"`
		Tokens int64  `json:"tokenCount"`
	}
	want := decoded[struct {
		Layers                                                          []layer
		SystemPromptTokens, ToolsTokens, HistoryTokens, TotalUsedTokens int64
	}](t, c.Expect.Value)
	items := []window.Item{
		{ID: "system", Layer: "system", Kind: window.KindFixed, Role: window.RoleSystem, Tokens: int(want.SystemPromptTokens)},
		{ID: "tools", Layer: window.LayerTools, Kind: window.KindFixed, Role: window.RoleSystem, Tokens: int(want.ToolsTokens)},
		{ID: "history", Layer: "history", Kind: window.KindMessage, Role: window.RoleUser, Tokens: int(want.HistoryTokens)},
	}
	perLayer := map[string]int64{}
	for i, l := range want.Layers {
		items = append(items, window.Item{ID: string(rune('a' + i)), Layer: "recall:" + l.ID, Kind: window.KindRetrieved, Tokens: int(l.Tokens)})
		perLayer["recall:"+l.ID] += l.Tokens
	}
	plan, err := window.Fit(items, window.Budget{MaxTokens: 10_000_000}, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.UsageFact("call", "m", plan)
	if *f.SystemTokens != want.SystemPromptTokens || *f.ToolsTokens != want.ToolsTokens || *f.HistoryTokens != want.HistoryTokens || *f.TotalTokens != want.TotalUsedTokens {
		t.Errorf("system %d, tools %d, history %d, total %d", *f.SystemTokens, *f.ToolsTokens, *f.HistoryTokens, *f.TotalTokens)
	}
	sum := int64(0)
	for _, l := range f.Layers {
		sum += *l.Tokens
		if tokens, recalled := perLayer[l.Layer]; recalled && tokens != *l.Tokens {
			t.Errorf("%s has %d tokens, not %d", l.Layer, *l.Tokens, tokens)
		}
	}
	if sum != want.TotalUsedTokens {
		t.Errorf("the layers have %d tokens, the window %d", sum, want.TotalUsedTokens)
	}
}

func noeticUsage(t *testing.T, c noeticCase) {
	input := decoded[struct {
		Responses []struct {
			Usage struct {
				InputTokens, OutputTokens int64
				CachedTokens              *int64
			}
		}
	}](t, c.Input)
	want := decoded[struct {
		Tokens struct {
			Input, Output, Total int64
			Cached               *int64
		}
	}](t, c.Expect.Value).Tokens
	var calls []schema.ProviderUsage
	for _, r := range input.Responses { // cached tokens are part of input there
		uncached := r.Usage.InputTokens
		if r.Usage.CachedTokens != nil {
			uncached -= *r.Usage.CachedTokens
		}
		calls = append(calls, schema.ProviderUsage{UncachedInput: &uncached, CacheRead: r.Usage.CachedTokens, Output: &r.Usage.OutputTokens})
	}
	total := SumUsage(calls...)
	input1, _ := total.Window()
	if input1 != want.Input || *total.Output != want.Output || input1+*total.Output != want.Total {
		t.Errorf("input %d, output %d", input1, *total.Output)
	}
	if (total.CacheRead == nil) != (want.Cached == nil) || want.Cached != nil && *total.CacheRead != *want.Cached {
		t.Errorf("cached %v, want %v", total.CacheRead, want.Cached)
	}
}

// noeticItem registers the extensions of the vectors' registry.
func noeticItem(t *testing.T, c noeticCase) {
	item := decoded[struct {
		Item struct{ ID, Type, Role, CallID, Name, Status string }
	}](t, c.Input).Item
	client, err := NewClient(Config{ItemTypes: []ItemType{"openrouter:datetime"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseItemType(item.Type)
	if err == nil {
		got, err = client.itemType(Content{ID: item.ID, ItemType: got, Role: item.Role, ToolCallID: item.CallID, ToolName: item.Name})
	}
	if (err == nil) != c.Expect.OK || err != nil && !errors.Is(err, ErrInvalid) {
		t.Fatalf("%q: %v", item.Type, err)
	}
	if err == nil && (string(got) != item.Type || ItemStatus(item.Status).check() != nil) {
		t.Errorf("%q became %q with status %q", item.Type, got, item.Status)
	}
}

func noeticBudget(t *testing.T, c noeticCase) {
	input := decoded[struct {
		Ctx    struct{ Cost, StepCount, Elapsed float64 }
		Limits struct{ MaxCost, MaxSteps, MaxDuration *float64 }
	}](t, c.Input)
	limits := Limits{}
	var errs []error
	for _, l := range []struct {
		name  string
		limit *float64
		spent float64
	}{{"cost", input.Limits.MaxCost, input.Ctx.Cost}, {"steps", input.Limits.MaxSteps, input.Ctx.StepCount}, {"duration", input.Limits.MaxDuration, input.Ctx.Elapsed}} {
		if l.limit != nil {
			limits[l.name] = *l.limit
		}
		errs = append(errs, limits.Check(l.name, l.spent))
	}
	err := errors.Join(errs...)
	if c.Expect.OK {
		if err != nil {
			t.Error(err)
		}
		return
	}
	want := decoded[struct {
		Field         string
		Limit, Actual float64
	}](t, c.Expect.Detail)
	var exceeded *ExceededError
	if !errors.As(err, &exceeded) || !errors.Is(err, ErrLimit) || exceeded.Name != want.Field || exceeded.Limit != want.Limit || exceeded.Actual != want.Actual {
		t.Errorf("%v, want %+v", err, want)
	}
}

func noeticLineage(t *testing.T, c noeticCase) {
	ctx := decoded[struct {
		Ctx struct {
			Depth                 int
			ThreadID, ExecutionID string
		}
	}](t, c.Input).Ctx
	if got, want := facts.LineageKey(ctx.Depth, ctx.ThreadID, ctx.ExecutionID), decoded[string](t, c.Expect.Value); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestEachNoeticExceptionIsOne checks that each listed exception exists.
func TestEachNoeticExceptionIsOne(t *testing.T) {
	t.Parallel()
	cases := noeticCases(t)
	for name := range noeticElsewhere {
		if !slices.ContainsFunc(cases, func(c noeticCase) bool { return c.ID == name || c.Group == name }) {
			t.Errorf("%s is neither a case nor a group", name)
		}
	}
}
