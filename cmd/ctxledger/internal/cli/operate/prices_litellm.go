package operate

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// A priceFile is what a price file says.
type priceFile struct {
	prices  []read.Price
	limits  []read.ModelLimit
	notes   []string // sentences about what was not taken
	refused bool     // some figures are wrong and were left out
}

// perToken are the members of a LiteLLM file that are prices of a token. The price of a cache
// write is that of a lifetime of five minutes.
var perToken = []struct {
	member string
	bucket read.Bucket
}{
	{"input_cost_per_token", read.BucketInput},
	{"cache_read_input_token_cost", read.BucketCacheRead},
	{"input_cost_per_token_cache_hit", read.BucketCacheRead},
	{"cache_creation_input_token_cost", read.BucketCacheWrite},
	{"cache_creation_input_token_cost_above_1hr", read.BucketCacheWrite1h},
	{"output_cost_per_token", read.BucketOutput},
	{"output_cost_per_reasoning_token", read.BucketReasoning},
}

// maxInput and maxOutput are the members of a LiteLLM file that are limits.
const maxInput, maxOutput = "max_input_tokens", "max_output_tokens"

// labels are the members that name a model's provider, kind, currency and source.
var labels = []string{"litellm_provider", "mode", "currency", "source"}

// A liteLLM reads a LiteLLM price file. Lists of names keep each name once.
type liteLLM struct {
	file                                                       priceFile
	source                                                     string
	twice, shapeless, negative, notNumbers, unpriced, currency []string
	currencies, costs, others                                  map[string]int // models by name
}

// parseLiteLLM reads a price file in LiteLLM's format: an object with a member for each model.
// Wrong figures are left out, and each kind is named in one sentence. An error means that the
// file is no such object.
func parseLiteLLM(name string, text []byte) (priceFile, error) {
	p := liteLLM{
		source:     "LiteLLM price file " + filepath.Base(name),
		currencies: make(map[string]int), costs: make(map[string]int), others: make(map[string]int),
	}
	models, err := p.models(text)
	if err != nil {
		return priceFile{}, fmt.Errorf("want one JSON object with a member for each model, as LiteLLM writes it: %w", err)
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		var members map[string]jsontext.Value
		if model == "sample_spec" { // LiteLLM's description of the format
			continue
		}
		if json.Unmarshal(models[model], &members, jsontext.AllowDuplicateNames(true)) != nil || strings.TrimSpace(model) == "" {
			p.shapeless = append(p.shapeless, model)
			continue
		}
		p.model(model, members)
	}
	p.say()
	return p.file, nil
}

// models returns the members of the file. Of two with one name the last counts, as in LiteLLM.
func (p *liteLLM) models(text []byte) (map[string]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if kind := d.PeekKind(); kind != '{' {
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("found %s", kind)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	models := make(map[string]jsontext.Value)
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		model := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if _, again := models[model]; again {
			p.twice = append(p.twice, model)
		}
		models[model] = slices.Clone(value)
	}
	return models, nil
}

// model takes the prices and limits of a model.
func (p *liteLLM) model(model string, members map[string]jsontext.Value) {
	currency := "USD"
	if given, ok := members["currency"]; ok && json.Unmarshal(given, &currency) != nil {
		currency = string(given)
	}
	if (read.Price{Model: model, Bucket: read.BucketInput, Currency: currency, Source: p.source}).Validate() != nil {
		p.currency = append(p.currency, fmt.Sprintf("%s %q", model, currency))
		return
	}
	found := make(map[read.Bucket]bool)
	for _, m := range perToken {
		p.price(model, m.member, m.bucket, currency, members, found)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if bucket, ok := stepOf(name); ok {
			p.price(model, name, bucket, currency, members, found)
		}
	}
	if len(found) > 0 {
		p.currencies[currency]++
	}
	if !found[read.BucketInput] || !found[read.BucketOutput] {
		p.unpriced = append(p.unpriced, model)
	}
	limit := read.ModelLimit{Model: model, MaxInput: p.limit(model, maxInput, members), MaxOutput: p.limit(model, maxOutput, members), Source: p.source}
	if limit.MaxInput != nil || limit.MaxOutput != nil {
		p.file.limits = append(p.file.limits, limit)
	}
	p.rest(model, members)
}

// price takes one price of a model, unless the bucket is among the found ones.
func (p *liteLLM) price(model, member string, bucket read.Bucket, currency string, members map[string]jsontext.Value, found map[read.Bucket]bool) {
	value, ok := members[member]
	if !ok || found[bucket] || value.Kind() == 'n' {
		return
	}
	perMillion, ok := p.number(model, member, value, 1e6)
	if !ok {
		return
	}
	found[bucket] = true
	p.file.prices = append(p.file.prices, read.Price{
		Model: model, Bucket: bucket, PerMillion: math.Round(perMillion*1e9) / 1e9, Currency: currency, Source: p.source,
	})
}

// stepOf returns the bucket of a member that is the price of calls with a large window, such as
// input_cost_per_token_above_200k_tokens.
func stepOf(name string) (read.Bucket, bool) {
	for _, m := range perToken {
		step, ok := strings.CutPrefix(name, m.member+"_above_")
		thousands, err := strconv.Atoi(strings.TrimSuffix(step, "k_tokens"))
		if bucket := m.bucket.Above(thousands); ok && err == nil && bucket.Valid() && name == fmt.Sprintf("%s_above_%dk_tokens", m.member, thousands) {
			return bucket, true
		}
	}
	return "", false
}

// rest counts the members that are not read.
func (p *liteLLM) rest(model string, members map[string]jsontext.Value) {
	for name := range members {
		_, known := stepOf(name)
		known = known || name == maxInput || name == maxOutput || slices.Contains(labels, name)
		for _, m := range perToken {
			known = known || name == m.member
		}
		switch {
		case known:
		case strings.Contains(name, "cost"):
			p.costs[name]++
		default:
			p.others[name]++
		}
	}
}

// number returns a figure times a factor, and false for a wrong one, which it names.
func (p *liteLLM) number(model, member string, value jsontext.Value, factor float64) (n float64, ok bool) {
	switch err := json.Unmarshal(value, &n); {
	case err != nil || n*factor > 1e9:
		p.notNumbers = append(p.notNumbers, fmt.Sprintf("%s of %s is %s", member, model, short(string(value))))
	case n < 0:
		p.negative = append(p.negative, fmt.Sprintf("%s of %s is %s", member, model, value))
	default:
		return n * factor, true
	}
	return 0, false
}

func (p *liteLLM) limit(model, member string, members map[string]jsontext.Value) *uint32 {
	value, ok := members[member]
	if !ok || value.Kind() == 'n' {
		return nil
	}
	n, ok := p.number(model, member, value, 1)
	if !ok || n < 1 {
		return nil
	}
	return new(uint32(n))
}

// say writes one sentence for each kind of what was not taken.
func (p *liteLLM) say() {
	wrong := func(list []string, form string) {
		if len(list) > 0 {
			p.file.refused = true
			p.file.notes = append(p.file.notes, fmt.Sprintf(form, some(list)))
		}
	}
	wrong(p.negative, "negative figures were left out: %s")
	wrong(p.notNumbers, "figures that are no number from 0 to 1000000000 were left out: %s")
	wrong(p.currency, "models whose currency is no ISO 4217 code were left out: %s")
	wrong(p.shapeless, "members that are no model with a name were left out: %s")
	note := func(list []string, form string) {
		if len(list) > 0 {
			p.file.notes = append(p.file.notes, fmt.Sprintf(form, some(list)))
		}
	}
	note(p.twice, "the last of the models with one name counts: %s")
	note(p.unpriced, "models without a price of input or of output stay unpriced: %s")
	note(slices.Sorted(maps.Keys(p.costs)), "prices that the ledger has no bucket for were not read: %s")
	note(slices.Sorted(maps.Keys(p.others)), "other members were not read: %s")
	if len(p.currencies) > 1 {
		note(slices.Sorted(maps.Keys(p.currencies)), "the prices are in several currencies, which are never added up: %s")
	}
}

// mostNamed is how many names a sentence lists.
const mostNamed = 4

// some lists the first names and counts the others.
func some(list []string) string {
	text := strings.Join(list[:min(len(list), mostNamed)], ", ")
	if n := len(list) - mostNamed; n > 0 {
		text += " and " + ui.Thousands(int64(n)) + " more"
	}
	return text
}

// short cuts a text that is not a figure.
func short(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}
