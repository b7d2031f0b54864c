package window

import (
	"math/bits"
	"reflect"
	"slices"
)

// Step is one rung of the pressure ladder of seed 000.
type Step string

// The five steps, in the seed's order.
const (
	DropRetrieved      Step = "drop_retrieved"       // 1: drop nonessential retrieved context
	TrimMessages       Step = "trim_messages"        // 2: trim old messages
	SummarizeMessages  Step = "summarize_messages"   // 3: summarise old messages
	CompactToolOutputs Step = "compact_tool_outputs" // 4: compact tool outputs
	ContextLimit       Step = "context_limit"        // 5: fail with a context-limit error
)

// Steps returns the five steps in the seed's order.
func Steps() []Step {
	return []Step{DropRetrieved, TrimMessages, SummarizeMessages, CompactToolOutputs, ContextLimit}
}

// Number returns the seed's number of the step, 1 to 5, whatever order a policy
// runs it in; 0 for an unknown one.
func (s Step) Number() int { return 1 + slices.Index(Steps(), s) }

// Outcome says what came of a step.
type Outcome string

// The outcomes of a step.
const (
	Applied      Outcome = "applied"      // it changed the window, and the target is met
	Skipped      Outcome = "skipped"      // the target was met before it
	Insufficient Outcome = "insufficient" // it did what it could; the target is not met
	Failed       Outcome = "failed"       // the runtime's function gave nothing usable, or the request cannot be sent
)

// Budget is the model's window.
type Budget struct {
	MaxTokens      int // tokens, prompt and output together; more than 0
	ReservedOutput int // tokens kept free for the answer; 0 to MaxTokens-1
}

// Limit returns how many tokens the prompt may have.
func (b Budget) Limit() int { return b.MaxTokens - b.ReservedOutput }

// Validate checks the ranges. The error is an [*InvalidError]. A window whose
// size is unknown cannot be planned for: it is not a window of size 0.
func (b Budget) Validate() error {
	switch {
	case b.MaxTokens <= 0:
		return &InvalidError{Field: "budget.max_tokens", Problem: "must be more than 0"}
	case b.ReservedOutput < 0 || b.ReservedOutput >= b.MaxTokens:
		return &InvalidError{Field: "budget.reserved_output", Problem: "must be from 0 to max_tokens-1"}
	}
	return nil
}

// Policy configures the ladder. The zero value runs all five steps in the
// seed's order and keeps of the conversation the newest user message alone.
type Policy struct {
	// Name is the policy's name in facts. Empty is "pressure_ladder".
	Name string
	// Steps are run in this order, each at most once. ContextLimit may only
	// stand last, and comes last also where it is not listed: a request that
	// does not fit is never passed on in silence. Nil means all five.
	Steps []Step

	// HighWater is the percentage of the limit above which the ladder runs, and
	// to which it works down. ContextLimit fails above the limit itself. 0 means
	// 100: the ladder runs when the request does not fit.
	HighWater int
	// TriggerTokens is the same as a number of tokens, whatever the limit is. 0 means
	// none. Of both the lower one counts.
	TriggerTokens int

	// TrimKeepFirst and TrimKeepLast are how many of the oldest and newest
	// conversation items trimming leaves at least; calls and results stay
	// together, so more may stay. The newest user message always stays. Let
	// TrimKeepLast be the larger one where a later step is to summarise the rest.
	TrimKeepFirst, TrimKeepLast int
	// TrimStartOn is the role with which what trimming leaves of the conversation
	// begins: where something is trimmed, old items go up to the first one that has it.
	// Empty means any role. There is no such role for the end: what came in last stays.
	TrimStartOn string

	// SummarizeKeepLast is how many of the newest conversation items are not
	// summarised, at least.
	SummarizeKeepLast int

	// CompactKeepLast is how many of the newest tool results are not compacted.
	CompactKeepLast int
	// CompactStubTokens is the size of a fixed stub that stands for a tool
	// output. 0 means that the runtime's [Work] compacts.
	CompactStubTokens int
	// CompactReloadRef names where a tool output can be read again. A reference
	// of the [Work]'s own replaces it. Nil means that there is none.
	CompactReloadRef func(Item) string
}

// DefaultPolicy returns all five steps in the seed's order, run when the request
// does not fit; trimming keeps 20 items, summarising 6, and the 3 newest tool
// results stay whole.
func DefaultPolicy() Policy {
	return Policy{Steps: Steps(), HighWater: 100, TrimKeepLast: 20, SummarizeKeepLast: 6, CompactKeepLast: 3}
}

// IsZero reports whether nothing of the policy is said.
func (p Policy) IsZero() bool { return reflect.ValueOf(p).IsZero() }

// Validate checks the policy and changes nothing. The error is an [*InvalidError].
func (p Policy) Validate() error {
	for i, s := range p.Steps {
		switch {
		case s.Number() == 0:
			return &InvalidError{Field: "policy.steps", Ref: string(s), Problem: "is no step of the ladder"}
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

// target returns the tokens to which the ladder works down.
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
