package read_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TestBuiltInListIsThePublishedOne compares each figure of the built-in list with the price file
// that it was read from.
func TestBuiltInListIsThePublishedOne(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the prices are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no prices")
	}
	text, err := os.ReadFile(filepath.Join(shared, "prices", "model_prices_and_context_window.json"))
	if err != nil {
		t.Fatal(err)
	}
	var published map[string]map[string]any
	if err := json.Unmarshal(text, &published); err != nil {
		t.Fatal(err)
	}
	members := []string{
		"input_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr",
		"output_cost_per_token",
	}
	c := newCorpus(t)
	l := c.write()
	list := rows(t, l, `SELECT model,
		toJSONString([input, cache_read, cache_write, cache_write_1h, output, max_input_tokens, max_output_tokens, above[1], above[2], above[3], above[4], above[5]]),
		step FROM built_in_models ORDER BY model`, nil)
	if len(list) < 20 {
		t.Fatalf("the list has %d models", len(list))
	}
	for _, row := range list {
		var got []float64
		if err := json.Unmarshal([]byte(row[1]), &got); err != nil {
			t.Fatal(err)
		}
		name := row[0]
		if _, ok := published[name]; !ok {
			name += "-20250514" // the file has this model with its date only
		}
		figure := func(member string) float64 {
			f, _ := published[name][member].(float64)
			return f
		}
		var want []float64
		for _, member := range members {
			want = append(want, 1e6*figure(member))
		}
		want = append(want, figure("max_input_tokens"), figure("max_output_tokens"))
		step := ""
		for member := range published[name] {
			if _, above, ok := strings.Cut(member, members[0]+"_above_"); ok && strings.HasSuffix(above, "k_tokens") {
				step = above
			}
		}
		if said := strings.TrimSuffix(row[2], "000") + "k_tokens"; said != step && step+row[2] != "0" {
			t.Errorf("%s: a step of %s tokens, published %s", name, row[2], step)
		}
		for _, member := range members {
			want = append(want, 1e6*figure(member+"_above_"+step))
		}
		for i, want := range want {
			if math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: figure %d is %v, published %v", name, i, got[i], want)
			}
		}
	}
}

// TestBuiltInListHasSteps: a call whose window exceeds the step of its model costs more, as a whole.
func TestBuiltInListHasSteps(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	for i, input := range []int64{272_000, 272_001} {
		c.add(&schema.UsageRecorded{CallID: fmt.Sprint("call-", i), Model: "gpt-5.4", Usage: schema.ProviderUsage{
			UncachedInput: num(input), CacheRead: num(0), CacheWrite: num(0), Output: num(1_000_000),
		}})
	}
	got := rows(t, c.write(), "SELECT round(priced_cost, 6) FROM call_costs ORDER BY call_id", nil)
	if want := "[[15.68] [23.860005]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestBuiltInListYieldsToToldPrices: a model that a told price matches has nothing of the list,
// and the list can be switched off and on.
func TestBuiltInListYieldsToToldPrices(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	for i, model := range []string{"claude-opus-4-5-20251101", "claude-opus-4-9", "gpt-5.2"} {
		c.add(&schema.UsageRecorded{CallID: fmt.Sprint("call-", i), Model: model, Usage: schema.ProviderUsage{
			UncachedInput: num(1_000_000), CacheRead: num(0), CacheWrite1h: num(1_000_000), Output: num(1_000_000),
		}})
	}
	l := c.write()
	r := read.Models(l)
	check := func(when, want string) {
		t.Helper()
		got := rows(t, l, "SELECT model, round(priced_cost, 6), price_source FROM call_costs ORDER BY call_id", nil)
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", when, got, want)
		}
	}
	const list = "built-in list of 2026-07-24"
	check("new", "[[claude-opus-4-5-20251101 40 "+list+"] [claude-opus-4-9 NULL ] [gpt-5.2 NULL "+list+"]]")
	if err := r.SetBuiltIn(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	check("off", "[[claude-opus-4-5-20251101 NULL ] [claude-opus-4-9 NULL ] [gpt-5.2 NULL ]]")
	if err := r.SetBuiltIn(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	told := read.Price{Model: "claude*", Bucket: read.BucketInput, PerMillion: 1, Currency: "EUR", Source: "a contract"}
	if err := r.ImportPrices(t.Context(), []read.Price{told}, true); err != nil {
		t.Fatal(err)
	}
	check("told", "[[claude-opus-4-5-20251101 NULL a contract] [claude-opus-4-9 NULL a contract] [gpt-5.2 NULL "+list+"]]")

	limit := read.ModelLimit{Model: "claude-opus-4-9", MaxInput: new(uint32(5)), Source: "a contract"}
	if err := r.ImportLimits(t.Context(), []read.ModelLimit{limit}); err != nil {
		t.Fatal(err)
	}
	if err := r.ImportLimits(t.Context(), []read.ModelLimit{{Model: "m", Source: "a"}}); !errors.Is(err, read.ErrModelLimit) {
		t.Errorf("a limit without figures: %v", err)
	}
	got := rows(t, l, "SELECT model, max_input_tokens, max_output_tokens, source FROM model_limits ORDER BY model", nil)
	if want := "[[claude-opus-4-5-20251101 200000 64000 " + list + "] [claude-opus-4-9 5 NULL a contract] [gpt-5.2 272000 128000 " + list + "]]"; fmt.Sprint(got) != want {
		t.Errorf("limits %v, want %s", got, want)
	}
	for model, want := range map[string]string{
		"claude-opus-4-5-20251101": "200000 " + list, "claude-opus-4-9": "5 a contract", "claude-opus-4-50": "? ", "": "? ", "%": "? ",
	} {
		tokens, source, err := r.InputLimit(t.Context(), model)
		found := "?"
		if tokens != nil {
			found = fmt.Sprint(*tokens)
		}
		if found += " " + source; err != nil || found != want {
			t.Errorf("the limit of %q is %q, %v, want %q", model, found, err, want)
		}
	}
	b, err := read.Of(l).Bill(t.Context(), "acme", []string{"s1", "s2"})
	if err != nil || b.Calls != 3 || b.Unpriced != 3 || b.Cost != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}
