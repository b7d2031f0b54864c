package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// codexTokens are counts in the form of Codex. The input includes cached input, the output
// includes reasoning.
type codexTokens struct {
	Input, Cached, Output, Reasoning, Total *int64
}

func (c *codexTokens) Read(at *jsonscan.Cursor) bool {
	return at.Members(func(name []byte) bool {
		switch string(name) {
		case "input_tokens":
			return at.Count(&c.Input)
		case "cached_input_tokens":
			return at.Count(&c.Cached)
		case "output_tokens":
			return at.Count(&c.Output)
		case "reasoning_output_tokens":
			return at.Count(&c.Reasoning)
		case "total_tokens":
			return at.Count(&c.Total)
		}
		return at.Skip()
	})
}

func (c *codexTokens) fields() []**int64 {
	return []**int64{&c.Input, &c.Cached, &c.Output, &c.Reasoning, &c.Total}
}

// equal reports whether a total repeats other. Another total counts another call.
func (c *codexTokens) equal(other *codexTokens) bool {
	others := other.fields()
	for i, f := range c.fields() {
		if model.ValueOf(*f) != model.ValueOf(*others[i]) {
			return false
		}
	}
	return true
}

// Since returns c − earlier. Since returns false if a count decreased, because the program
// restarted its counts.
func (c *codexTokens) Since(earlier *codexTokens) (codexTokens, bool) {
	difference := *c
	before := earlier.fields()
	for i, f := range difference.fields() {
		if *f == nil {
			continue
		}
		n := **f - model.ValueOf(*before[i])
		if n < 0 {
			return codexTokens{}, false
		}
		*f = &n
	}
	return difference, true
}

func (c *codexTokens) empty() bool {
	for _, f := range c.fields() {
		if model.ValueOf(*f) != 0 {
			return false
		}
	}
	return true
}

func (c *codexTokens) negative() bool {
	for _, f := range c.fields() {
		if model.ValueOf(*f) < 0 {
			return true
		}
	}
	return false
}

// codexInfo is the info of a token_count event.
type codexInfo struct {
	Total  *codexTokens
	Last   *codexTokens
	Window *int64
}

func (i *codexInfo) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "total_token_usage":
			return jsonscan.ReadNew(c, &i.Total, (*codexTokens).Read)
		case "last_token_usage":
			return jsonscan.ReadNew(c, &i.Last, (*codexTokens).Read)
		case "model_context_window":
			return c.Count(&i.Window)
		}
		return c.Skip()
	})
}

// codexMeter distinguishes token_count events for a new call from events that repeat the last
// total.
type codexMeter struct {
	unknown  bool        // the last total is unknown, since the log begins after it
	total    codexTokens // the last total
	baseline codexTokens // the part of the total that a fork took over from another session
	last     *codexTokens
}

// codexCount is the usage of one new call, packed. A log may hold hundreds of thousands.
type codexCount struct {
	tokens codexPacked
	total  codexPacked // total of the session in the log
	own    codexPacked // total without the part that a fork took over
	window int64       // size of the model's window, -1 when unknown
	gap    bool        // the total grew by more than the call: a record is missing
}

// codexPacked holds counts in the order of [codexTokens.fields], -1 for an unknown count.
type codexPacked [5]int64

func (c *codexTokens) Pack() (p codexPacked) {
	for i, f := range c.fields() {
		p[i] = -1
		if *f != nil && **f >= 0 {
			p[i] = **f
		}
	}
	return p
}

func (p codexPacked) Unpack() *codexTokens {
	c := new(codexTokens)
	for i, f := range c.fields() {
		if p[i] >= 0 {
			*f = &p[i]
		}
	}
	return c
}

// numbers returns the known counts under the given names.
func (p codexPacked) numbers(names [5]string) map[string]int64 {
	m := make(map[string]int64, len(p))
	for i, n := range p {
		if n >= 0 {
			m[names[i]] = n
		}
	}
	return m
}

var (
	codexNames    = [5]string{"input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"}
	reportedNames = [5]string{"input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "total_tokens"}
)

// Raw returns the numbers of the log, unchanged.
func (c *codexCount) Raw() map[string]any {
	raw := map[string]any{"last_token_usage": c.tokens.numbers(codexNames)}
	if total := c.total.numbers(codexNames); len(total) > 0 {
		raw["total_token_usage"] = total
	}
	if c.window >= 0 {
		raw["model_context_window"] = c.window
	}
	return raw
}

// Read returns the usage of a new call, or nil. Read uses only the total of a replayed event.
func (m *codexMeter) Read(value jsonscan.Span, replay bool) (*codexCount, *model.LineError) {
	var info codexInfo
	if value.Kind() != '{' {
		return nil, nil
	}
	if !jsonscan.Decode(value, info.Read) {
		return nil, model.NewLineError(model.ReasonBadUsage, "the token counts cannot be read")
	}
	for _, c := range []*codexTokens{info.Total, info.Last} {
		if c != nil && c.negative() {
			return nil, model.NewLineError(model.ReasonNegativeUsage, "a token count is negative")
		}
	}
	none := new(codexTokens).Pack()
	count := &codexCount{total: none, own: none, window: -1}
	if info.Window != nil && *info.Window > 0 {
		count.window = *info.Window
	}
	switch {
	case info.Total != nil:
		if m.total.equal(info.Total) {
			return nil, nil
		}
		if m.unknown {
			if m.unknown = false; info.Last == nil || info.Last.empty() {
				m.total = *info.Total
				return nil, nil
			}
			if before, ok := info.Total.Since(info.Last); ok {
				m.total = before
			}
		}
		grown, continued := info.Total.Since(&m.total)
		if !continued {
			grown, m.baseline = *info.Total, codexTokens{}
		}
		m.total = *info.Total
		call := &grown
		if info.Last != nil && !info.Last.empty() {
			count.gap = continued && !info.Last.equal(&grown)
			call = info.Last
		}
		count.tokens, count.total = call.Pack(), info.Total.Pack()
		if own, ok := info.Total.Since(&m.baseline); ok {
			count.own = own.Pack()
		}
	case info.Last != nil:
		if info.Last.empty() || m.last != nil && m.last.equal(info.Last) {
			return nil, nil
		}
		count.tokens, m.last = info.Last.Pack(), info.Last
	default:
		return nil, nil
	}
	if replay {
		m.baseline = m.total
		return nil, nil
	}
	return count, nil
}

// Buckets returns the counts as disjoint buckets.
func (c *codexTokens) Buckets() (u schema.ProviderUsage) {
	u.UncachedInput, u.CacheRead = model.Part(c.Input, c.Cached)
	u.Output, u.Reasoning = model.Part(c.Output, c.Reasoning)
	return u
}
