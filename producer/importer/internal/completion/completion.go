// Package completion reads chat completions in the forms of OpenHands and SWE-agent logs, and
// makes their token counts disjoint.
package completion

import (
	"math"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

type Response struct {
	ID      string
	Model   string
	Choices jsonscan.Span
	Usage   jsonscan.Span
}

func (r *Response) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Text(&r.ID)
		case "model":
			return c.Text(&r.Model)
		case "choices":
			return c.Span(&r.Choices)
		case "usage":
			return c.Span(&r.Usage)
		}
		return c.Skip()
	})
}

// ToolCall is a tool call in the form of a provider's chat completions.
type ToolCall struct {
	ID        string
	Name      string
	Arguments jsonscan.Span
}

func (t *ToolCall) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Text(&t.ID)
		case "function":
			return c.Null() || t.function(c)
		}
		return c.Skip()
	})
}

func (t *ToolCall) function(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "name":
			return c.Text(&t.Name)
		case "arguments":
			return c.Span(&t.Arguments)
		}
		return c.Skip()
	})
}

// Tokens is the usage of one model call in the form of OpenHands. The prompt includes the tokens
// that were read from the cache.
type Tokens struct {
	Model      string `json:"model"`
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	Read       *int64 `json:"cache_read_tokens"`
	Written    *int64 `json:"cache_write_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
	Window     *int64 `json:"context_window"`
	ResponseID string `json:"response_id"`
	Cost       *float64
}

// usage is a provider's usage in the form of litellm.
type usage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	InDetails  *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutDetails *struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
}

func (u *usage) tokens() *Tokens {
	t := &Tokens{Prompt: u.Prompt, Completion: u.Completion, Read: u.Read, Written: u.Written}
	if u.InDetails != nil && t.Read == nil {
		t.Read = u.InDetails.Cached
	}
	if u.OutDetails != nil {
		t.Reasoning = u.OutDetails.Reasoning
	}
	return t
}

// Buckets returns the counts as disjoint buckets.
func (t *Tokens) Buckets() (u schema.ProviderUsage, problem *model.LineError) {
	for _, n := range []*int64{t.Prompt, t.Completion, t.Read, t.Written, t.Reasoning} {
		if model.ValueOf(n) < 0 {
			return u, model.NewLineError(model.ReasonNegativeUsage, "a token count is negative")
		}
	}
	u.UncachedInput, u.CacheRead = model.Part(t.Prompt, t.Read)
	// In some versions the prompt includes the tokens that were written to the cache.
	if rest, written := model.Part(u.UncachedInput, t.Written); written != nil {
		u.UncachedInput, u.CacheWrite = rest, written
	} else {
		u.CacheWrite = t.Written
	}
	u.Output, u.Reasoning = model.Part(t.Completion, t.Reasoning)
	return u, nil
}

// Raw returns the numbers of the log, unchanged.
func (t *Tokens) Raw() map[string]any {
	raw := make(map[string]any)
	for name, n := range map[string]*int64{
		"prompt_tokens": t.Prompt, "completion_tokens": t.Completion, "cache_read_tokens": t.Read, "cache_write_tokens": t.Written,
		"reasoning_tokens": t.Reasoning, "context_window": t.Window,
	} {
		if n != nil {
			raw[name] = *n
		}
	}
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// Tokens returns the usage of a call. The run's summary has priority over the usage of the
// answer.
func (r *Response) Tokens() *Tokens {
	var u usage
	if r == nil || r.Usage.Kind() != '{' || json.Unmarshal(r.Usage, &u, jsonscan.Streamed) != nil {
		return nil
	}
	return u.tokens()
}

// Since returns the difference between two totals. A nil earlier total counts as 0. The result is
// nil if t is nil or smaller than earlier.
func (t *Tokens) Since(earlier *Tokens) *Tokens {
	if t == nil {
		return nil
	}
	if earlier == nil {
		earlier = &Tokens{Prompt: new(int64), Completion: new(int64), Read: new(int64), Written: new(int64), Reasoning: new(int64)}
	}
	difference := new(Tokens)
	before := []*int64{earlier.Prompt, earlier.Completion, earlier.Read, earlier.Written, earlier.Reasoning}
	after := []*int64{t.Prompt, t.Completion, t.Read, t.Written, t.Reasoning}
	for i, into := range []**int64{&difference.Prompt, &difference.Completion, &difference.Read, &difference.Written, &difference.Reasoning} {
		if after[i] == nil || before[i] == nil {
			continue
		}
		n := *after[i] - *before[i]
		if n < 0 {
			return nil
		}
		*into = &n
	}
	return difference
}

// PackedTokens is [Tokens] without pointers. A run may hold hundreds of thousands.
type PackedTokens struct {
	numbers  [6]int64 // in the order of [Tokens.fields]; noCount for an unknown number
	Cost     float64  // NaN when unknown
	model    string
	Response string
}

const noCount = math.MinInt64

func (t *Tokens) fields() [6]**int64 {
	return [6]**int64{&t.Prompt, &t.Completion, &t.Read, &t.Written, &t.Reasoning, &t.Window}
}

// Pack shares the model's name with the preceding count, which mostly has the same model.
func (t *Tokens) Pack(before *PackedTokens) PackedTokens {
	c := PackedTokens{Cost: PackedCost(t.Cost), model: t.Model, Response: t.ResponseID}
	if before != nil && before.model == c.model {
		c.model = before.model
	}
	for i, f := range t.fields() {
		if c.numbers[i] = noCount; *f != nil {
			c.numbers[i] = **f
		}
	}
	return c
}

func (c *PackedTokens) Unpack() *Tokens {
	t := &Tokens{Model: c.model, ResponseID: c.Response}
	for i, f := range t.fields() {
		if n := c.numbers[i]; n != noCount {
			*f = &n
		}
	}
	if cost := c.Cost; !math.IsNaN(cost) {
		t.Cost = &cost
	}
	return t
}

func PackedCost(cost *float64) float64 {
	if cost == nil {
		return math.NaN()
	}
	return *cost
}

// Plus adds two sets of counts. Either set can be unknown.
func (t *Tokens) Plus(other *Tokens) *Tokens {
	if t == nil || other == nil {
		if t == nil {
			return other
		}
		return t
	}
	sum := *t
	others := other.fields()
	for i, f := range sum.fields() {
		*f = SumOf(*f, *others[i])
	}
	return &sum
}

// SumOf adds two numbers. Either number can be unknown.
func SumOf[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	sum := *a + *b
	return &sum
}
