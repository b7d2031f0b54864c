package window

import (
	"math/bits"
	"reflect"
	"slices"
)

// Budget is the model's window.
type Budget struct {
	MaxTokens      int // tokens, prompt and output together; more than 0
	ReservedOutput int // tokens kept free for the answer; 0 to MaxTokens-1
}

// Limit returns the largest number of tokens in the prompt.
func (b Budget) Limit() int { return b.MaxTokens - b.ReservedOutput }

// Validate checks the ranges. The error is an [*InvalidError]. A window of unknown size is
// not a window of size 0 and cannot be planned.
func (b Budget) Validate() error {
	switch {
	case b.MaxTokens <= 0:
		return &InvalidError{Field: "budget.max_tokens", Problem: "must be more than 0"}
	case b.ReservedOutput < 0 || b.ReservedOutput >= b.MaxTokens:
		return &InvalidError{Field: "budget.reserved_output", Problem: "must be from 0 to max_tokens-1"}
	}
	return nil
}

// Policy configures the ladder. The zero value runs all five steps in the seed's order and
// keeps only the newest user message of the conversation.
type Policy struct {
	// Name is the policy's name in facts. Empty is "pressure_ladder".
	Name string
	// Steps run in this order, each at most once. ContextLimit is always the last step,
	// even if it is not listed: a request that does not fit always gives an error. Nil
	// means all five.
	Steps []Step

	// HighWater is a percentage of the limit. The ladder runs for a larger request and
	// works down to this percentage. ContextLimit fails only above the limit itself. 0
	// means 100.
	HighWater int
	// TriggerTokens has the same effect as HighWater, as a number of tokens. 0 means none.
	// The lower of both counts.
	TriggerTokens int

	// TrimKeepFirst and TrimKeepLast are the smallest numbers of oldest and newest
	// conversation items that trimming leaves. Calls and results stay together, so more
	// items may stay. The newest user message always stays. If a later step should
	// summarize, TrimKeepLast must be larger than that step's number.
	TrimKeepFirst, TrimKeepLast int
	// TrimStartOn is the role of the first conversation item after trimming. If trimming
	// removes items, it removes the old ones up to the first item with this role. Empty
	// means any role. The end has no such role: the newest items stay.
	TrimStartOn string

	// SummarizeKeepLast is the smallest number of newest conversation items that are not
	// summarized.
	SummarizeKeepLast int

	// CompactKeepLast is the number of newest tool results that are not compacted.
	CompactKeepLast int
	// CompactStubTokens is the size of a fixed stub that replaces a tool output. 0 means
	// that the runtime's [Work] compacts.
	CompactStubTokens int
	// CompactReloadRef returns the place from which a tool output can be loaded again. A
	// reference of the [Work] has priority. Nil means no place.
	CompactReloadRef func(Item) string
}

// DefaultPolicy returns all five steps in the seed's order, which run when the request does
// not fit. Trimming keeps 20 items, summarizing 6, and the 3 newest tool results stay
// whole.
func DefaultPolicy() Policy {
	return Policy{Steps: Steps(), HighWater: 100, TrimKeepLast: 20, SummarizeKeepLast: 6, CompactKeepLast: 3}
}

// IsZero reports whether all fields of the policy are empty.
func (p Policy) IsZero() bool { return reflect.ValueOf(p).IsZero() }

// Validate checks the policy and changes nothing. The error is an [*InvalidError].
func (p Policy) Validate() error {
	for i, s := range p.Steps {
		switch {
		case s.Number() == 0:
			return &InvalidError{Field: "policy.steps", Ref: string(s), Problem: "is not a step of the ladder"}
		case slices.Contains(p.Steps[:i], s):
			return &InvalidError{Field: "policy.steps", Ref: string(s), Problem: "is listed twice"}
		case s == ContextLimit && i != len(p.Steps)-1:
			return &InvalidError{Field: "policy.steps", Ref: string(s), Problem: "must be the last step"}
		}
	}
	if p.HighWater < 0 || p.HighWater > 100 {
		return &InvalidError{Field: "policy.high_water", Problem: "must be a percentage from 0 to 100"}
	}
	switch p.TrimStartOn {
	case "", RoleUser, RoleAssistant, RoleTool:
	default:
		return &InvalidError{Field: "policy.trim_start_on", Ref: p.TrimStartOn, Problem: "must be user, assistant or tool"}
	}
	if min(p.TriggerTokens, p.TrimKeepFirst, p.TrimKeepLast, p.SummarizeKeepLast, p.CompactKeepLast, p.CompactStubTokens) < 0 {
		return &InvalidError{Field: "policy", Problem: "has a negative number"}
	}
	return nil
}

// steps returns the steps to run, ContextLimit last.
func (p Policy) steps() []Step {
	if p.Steps == nil {
		return Steps()
	}
	if n := len(p.Steps); n > 0 && p.Steps[n-1] == ContextLimit {
		return p.Steps
	}
	return append(slices.Clone(p.Steps), ContextLimit)
}

// target returns the number of tokens at which the ladder stops.
func (p Policy) target(limit int) int {
	target := limit
	if p.HighWater > 0 {
		hi, lo := bits.Mul64(uint64(limit), uint64(p.HighWater))
		quotient, _ := bits.Div64(hi, lo, 100)
		target = int(quotient)
	}
	if p.TriggerTokens > 0 {
		target = min(target, p.TriggerTokens)
	}
	return target
}
