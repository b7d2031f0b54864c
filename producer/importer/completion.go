package importer

import (
	"math"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

type ohResponse struct {
	ID      string
	Model   string
	Choices span
	Usage   span
}

func (r *ohResponse) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.string(&r.ID)
		case "model":
			return c.string(&r.Model)
		case "choices":
			return c.span(&r.Choices)
		case "usage":
			return c.span(&r.Usage)
		}
		return c.skip()
	})
}

// chosenCall is a tool call as the chat completions of a provider have it.
type chosenCall struct {
	ID        string
	Name      string
	Arguments span
}

func (t *chosenCall) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.string(&t.ID)
		case "function":
			return c.null() || t.function(c)
		}
		return c.skip()
	})
}

func (t *chosenCall) function(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "name":
			return c.string(&t.Name)
		case "arguments":
			return c.span(&t.Arguments)
		}
		return c.skip()
	})
}

// ohTokens is what one model call used, as OpenHands sums it up: the prompt
// holds what was read from the cache.
type ohTokens struct {
	Model      string `json:"model"`
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	Read       *int64 `json:"cache_read_tokens"`
	Written    *int64 `json:"cache_write_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
	Window     *int64 `json:"context_window"`
	ResponseID string `json:"response_id"`
	cost       *float64
}

// ohUsage is a provider's usage, as litellm passes it on.
type ohUsage struct {
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

func (u *ohUsage) tokens() *ohTokens {
	t := &ohTokens{Prompt: u.Prompt, Completion: u.Completion, Read: u.Read, Written: u.Written}
	if u.InDetails != nil && t.Read == nil {
		t.Read = u.InDetails.Cached
	}
	if u.OutDetails != nil {
		t.Reasoning = u.OutDetails.Reasoning
	}
	return t
}

// buckets makes the counts disjoint.
func (t *ohTokens) buckets() (u schema.ProviderUsage, problem *lineError) {
	for _, n := range []*int64{t.Prompt, t.Completion, t.Read, t.Written, t.Reasoning} {
		if valueOf(n) < 0 {
			return u, &lineError{ReasonNegativeUsage, "a token count is negative"}
		}
	}
	u.UncachedInput, u.CacheRead = part(t.Prompt, t.Read)
	// Versions differ in whether the prompt holds what was written to the cache.
	if rest, written := part(u.UncachedInput, t.Written); written != nil {
		u.UncachedInput, u.CacheWrite = rest, written
	} else {
		u.CacheWrite = t.Written
	}
	u.Output, u.Reasoning = part(t.Completion, t.Reasoning)
	return u, nil
}

// raw are the numbers as the log has them.
func (t *ohTokens) raw() map[string]any {
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

// usage is what a call used: as the run sums it up, or as the answer says.
func (r *ohResponse) usage() *ohTokens {
	var u ohUsage
	if r == nil || r.Usage.Kind() != '{' || json.Unmarshal(r.Usage, &u, streamed) != nil {
		return nil
	}
	return u.tokens()
}

// since is what was used between two totals, of which the first is 0 where
// none was told; nil where the second is not told or less.
func (t *ohTokens) since(earlier *ohTokens) *ohTokens {
	if t == nil {
		return nil
	}
	if earlier == nil {
		earlier = &ohTokens{Prompt: new(int64), Completion: new(int64), Read: new(int64), Written: new(int64), Reasoning: new(int64)}
	}
	difference := new(ohTokens)
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

// ohCount is [ohTokens] without pointers, since a run may hold hundreds of
// thousands.
type ohCount struct {
	numbers  [6]int64 // in the order of [ohTokens.fields], noCount for one that is not told
	cost     float64  // NaN when it is not told
	model    string
	response string
}

const noCount = math.MinInt64

func (t *ohTokens) fields() [6]**int64 {
	return [6]**int64{&t.Prompt, &t.Completion, &t.Read, &t.Written, &t.Reasoning, &t.Window}
}

// pack shares the name of the model with the count before, which mostly is of
// the same.
func (t *ohTokens) pack(before *ohCount) ohCount {
	c := ohCount{cost: packedCost(t.cost), model: t.Model, response: t.ResponseID}
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

func (c *ohCount) unpack() *ohTokens {
	t := &ohTokens{Model: c.model, ResponseID: c.response}
	for i, f := range t.fields() {
		if n := c.numbers[i]; n != noCount {
			*f = &n
		}
	}
	if cost := c.cost; !math.IsNaN(cost) {
		t.cost = &cost
	}
	return t
}

func packedCost(cost *float64) float64 {
	if cost == nil {
		return math.NaN()
	}
	return *cost
}

// plus adds the counts of others, either of which may not be told.
func (t *ohTokens) plus(other *ohTokens) *ohTokens {
	if t == nil || other == nil {
		if t == nil {
			return other
		}
		return t
	}
	sum := *t
	others := other.fields()
	for i, f := range sum.fields() {
		*f = sumOf(*f, *others[i])
	}
	return &sum
}

// sumOf adds two numbers, either of which may not be told.
func sumOf[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	sum := *a + *b
	return &sum
}
