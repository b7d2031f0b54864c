package importer

import (
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

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

// reported are totals of a run, by neutral names.
func (run *ohRun) reported() map[string]any {
	totals := make(map[string]any)
	if t := run.total; t != nil {
		for name, n := range map[string]*int64{
			"input_tokens": t.Prompt, "cached_input_tokens": t.Read, "cache_write_tokens": t.Written, "output_tokens": t.Completion, "reasoning_tokens": t.Reasoning,
		} {
			if n != nil {
				totals[name] = *n
			}
		}
	}
	if run.cost != nil {
		totals["cost"] = *run.cost
	}
	if calls := run.counts.len(); calls > 0 {
		totals["calls"] = calls
	}
	return totals
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
