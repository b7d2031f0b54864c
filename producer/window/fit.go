package window

import (
	"math"
	"slices"
)

// Fit plans the window of one model call (seed 000, context pressure). Items are the
// candidates in sending order.
//
// The configured steps form one fixed sequence of actions, for example: drop this item,
// drop that item, replace these items by a summary. The plan is the shortest beginning of
// the sequence after which the request meets the target. Therefore a larger budget never
// omits more under the same policy and the same answers of work.
//
// Work is called at most once for summarizing and once for compacting, and only if the
// earlier steps were not enough. Work may be nil.
//
// Errors are [*InvalidError] for invalid input, with an empty Plan, and [*LimitError] if
// the items that must stay do not fit. With a [*LimitError] the Plan is complete and holds
// the results of the steps.
func Fit(items []Item, budget Budget, policy Policy, work Work) (Plan, error) {
	if err := budget.Validate(); err != nil {
		return Plan{}, err
	}
	if err := policy.Validate(); err != nil {
		return Plan{}, err
	}
	if err := validateItems(items); err != nil {
		return Plan{}, err
	}
	l := newLadder(items, budget, policy, work)
	if err := l.exclude(); err != nil {
		return Plan{}, err
	}
	plan := Plan{Policy: policy, Budget: budget, Limit: budget.Limit(), Target: l.target, TokensBefore: l.total}
	plan.Pressed = l.total > l.target
	for _, step := range policy.steps() {
		plan.Steps = append(plan.Steps, l.run(step))
	}
	plan.TokensAfter = l.total
	plan.Window = l.window()
	plan.Omitted = l.omitted()
	if l.total > plan.Limit {
		return plan, &LimitError{Budget: budget, Tokens: l.total, Remaining: slices.Clone(plan.Window)}
	}
	return plan, nil
}

func validateItems(items []Item) error {
	seen := make(map[string]struct{}, len(items))
	total := 0
	for i := range items {
		it := &items[i]
		switch _, dup := seen[it.ID]; {
		case it.ID == "":
			return &InvalidError{Field: "item.id", Problem: "is empty"}
		case dup:
			return &InvalidError{Field: "item.id", Ref: it.ID, Problem: "is the id of two items"}
		case it.Tokens < 0:
			return &InvalidError{Field: "item.tokens", Ref: it.ID, Problem: "is negative"}
		case it.Tokens > math.MaxInt-total:
			return &InvalidError{Field: "item.tokens", Ref: it.ID, Problem: "makes the sum overflow"}
		case !it.finite():
			return &InvalidError{Field: "item.score", Ref: it.ID, Problem: "or one of its signals is not a finite number"}
		case it.Excluded != "" && !it.Excluded.Valid():
			return &InvalidError{Field: "item.excluded", Ref: it.ID, Problem: "is not one of the 12 omission reasons"}
		}
		seen[it.ID] = struct{}{}
		total += it.Tokens
	}
	return nil
}
