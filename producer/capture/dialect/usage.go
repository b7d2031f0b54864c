package dialect

import "github.com/ctxledger/ctxledger/schema"

// divided returns disjoint buckets of an input that includes its cached part, and of an output
// that includes its reasoning. A part that is larger than its whole is unknown, as is the rest.
func divided(input, cached, output, reasoning *int64) schema.ProviderUsage {
	u := schema.ProviderUsage{UncachedInput: less(input, cached), Output: less(output, reasoning)}
	if u.UncachedInput != nil || input == nil {
		u.CacheRead = cached
	}
	if u.Output != nil || output == nil {
		u.Reasoning = reasoning
	}
	return u
}
