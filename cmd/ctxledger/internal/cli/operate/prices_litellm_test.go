package operate

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// TestLiteLLMFile reads the published file as it is.
func TestLiteLLMFile(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the prices are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no prices")
	}
	file := filepath.Join(shared, "prices", "model_prices_and_context_window.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	given, err := readPrices(file, text)
	if err != nil || given.refused {
		t.Fatalf("%v, refused %v: %q", err, given.refused, given.notes)
	}
	want := map[read.Bucket]float64{
		read.BucketInput: 5, read.BucketCacheRead: 0.5, read.BucketCacheWrite: 6.25, read.BucketCacheWrite1h: 10, read.BucketOutput: 25,
	}
	dearer := map[string]float64{
		"claude-sonnet-4-20250514 input_above_200k": 6, "claude-sonnet-4-20250514 cache_read_above_200k": 0.6,
		"claude-sonnet-4-20250514 cache_write_above_200k": 7.5, "claude-sonnet-4-20250514 output_above_200k": 22.5,
		"gpt-5.4 input_above_272k": 5, "gpt-5.4 cache_read_above_272k": 0.5, "gpt-5.4 output_above_272k": 22.5,
	}
	inputs, steps := 0, make(map[string]int)
	for _, p := range given.prices {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", p.Model, err)
		}
		if p.Bucket == read.BucketInput {
			inputs++
		}
		if base, step, ok := strings.Cut(string(p.Bucket), "_above_"); ok {
			steps[base+" "+step]++
		}
		if name := p.Model + " " + string(p.Bucket); dearer[name] != 0 {
			if p.PerMillion != dearer[name] {
				t.Errorf("%s costs %v", name, p.PerMillion)
			}
			delete(dearer, name)
		}
		if p.Model == "claude-opus-4-5" {
			if p.PerMillion != want[p.Bucket] || p.Currency != "USD" {
				t.Errorf("%s costs %v %s", p.Bucket, p.PerMillion, p.Currency)
			}
			delete(want, p.Bucket)
		}
	}
	if len(want) > 0 || inputs != 217 || len(given.limits) < 204 {
		t.Errorf("without %v; %d models have a price of input and %d a limit", want, inputs, len(given.limits))
	}
	if want := map[string]int{
		"input 200k": 14, "output 200k": 14, "cache_read 200k": 13, "cache_write 200k": 11, "cache_write_1h 200k": 3,
		"input 272k": 13, "output 272k": 13, "cache_read 272k": 13, "cache_write 272k": 4,
	}; len(dearer) > 0 || !maps.Equal(steps, want) {
		t.Errorf("without %v; steps %v, want %v", dearer, steps, want)
	}
	if len(given.notes) != 3 {
		t.Errorf("sentences: %q", given.notes)
	}
}

// TestWrongFiguresOfALiteLLMFile names each kind of wrong figure once and keeps the good ones.
func TestWrongFiguresOfALiteLLMFile(t *testing.T) {
	t.Parallel()
	given, err := readPrices("prices.json", []byte(`{
		"sample_spec": {"input_cost_per_token": "a price"},
		"good": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "max_input_tokens": 1000, "new_member": [1, {"a": 1}]},
		"minus": {"input_cost_per_token": -1e-06, "output_cost_per_token": 2e-06},
		"text": {"input_cost_per_token": "1e-06", "output_cost_per_token": 1e300, "max_input_tokens": -5, "max_output_tokens": null},
		"yuan": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "currency": "CNY"},
		"coin": {"input_cost_per_token": 1e-06, "currency": "coins"},
		"list": [],
		"image": {"output_cost_per_image": 0.1, "input_cost_per_token_above_200k_tokens": 1},
		"good": {"input_cost_per_token": 3e-06, "output_cost_per_token": 4e-06}
	}`))
	if err != nil || !given.refused {
		t.Fatalf("%v, refused %v", err, given.refused)
	}
	var prices []string
	for _, p := range given.prices {
		prices = append(prices, strings.Join([]string{p.Model, string(p.Bucket), p.Currency}, " "))
	}
	if want := []string{"good input USD", "good output USD", "image input_above_200k USD", "minus output USD", "yuan input CNY", "yuan output CNY"}; !slices.Equal(prices, want) {
		t.Errorf("prices %q, want %q", prices, want)
	}
	if given.prices[0].PerMillion != 3 {
		t.Errorf("the last of two models counts, found %v", given.prices[0].PerMillion)
	}
	want := []string{
		"negative figures were left out: input_cost_per_token of minus is -1e-06, max_input_tokens of text is -5",
		`figures that are no number from 0 to 1000000000 were left out: input_cost_per_token of text is "1e-06", output_cost_per_token of text is 1e300`,
		`models whose currency is no ISO 4217 code were left out: coin "coins"`,
		"members that are no model with a name were left out: list",
		"the last of the models with one name counts: good",
		"models without a price of input or of output stay unpriced: image, minus, text",
		"prices that the ledger has no bucket for were not read: output_cost_per_image",
		"the prices are in several currencies, which are never added up: CNY, USD",
	}
	if !slices.Equal(given.notes, want) {
		t.Errorf("sentences:\n%s\nwant:\n%s", strings.Join(given.notes, "\n"), strings.Join(want, "\n"))
	}
	for _, text := range []string{``, `[]`, `{`, `{"a": {"input_cost_per_token": 1e-6}`, `{"a": 1} `, "{\"a\": \xff}", `{"a": {}} {`} {
		if given, err := readPrices("prices.json", []byte(text)); err == nil {
			t.Errorf("%q gave %v", text, given)
		}
	}
}

func FuzzLiteLLM(f *testing.F) {
	f.Add([]byte(`{"a": {"input_cost_per_token": 1e-06, "max_input_tokens": 4e9}}`))
	f.Add([]byte(`{"a": {"input_cost_per_token": 1e-06, "input_cost_per_token": null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		given, err := readPrices("prices.json", text)
		if err != nil {
			return
		}
		for _, p := range given.prices {
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
		}
		for _, l := range given.limits {
			if err := l.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}
