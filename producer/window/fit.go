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

// ladder is the state of one Fit. Slices are parallel to items.
type ladder struct {
	items  []Item
	policy Policy
	work   Work
	limit  int
	target int

	together [][]int // result of units after the first call
	tokens   []int   // current size
	gone     []bool
	out      []Omission // reasons of the omitted items; nil before the first
	left     int        // number of remaining items
	total    int
	replacement
}

// replacement is the summary that replaces omitted items.
type replacement struct {
	summary  *Item
	insertAt int          // index before which the summary is inserted
	state    []Reinjected // state that follows the summary
}

func newLadder(items []Item, budget Budget, policy Policy, work Work) *ladder {
	l := &ladder{
		items: items, policy: policy, work: work,
		limit: budget.Limit(), target: policy.target(budget.Limit()),
		tokens: make([]int, len(items)), gone: make([]bool, len(items)), left: len(items),
	}
	for i := range items {
		l.tokens[i] = items[i].Tokens
		l.total += items[i].Tokens
	}
	return l
}

// units returns the groups of items that stay or leave together, by first item.
func (l *ladder) units() [][]int {
	if l.together == nil {
		l.together = units(l.items)
	}
	return l.together
}

// exclude removes the items that the runtime excluded, with the other items of their tool
// calls.
func (l *ladder) exclude() error {
	if !slices.ContainsFunc(l.items, func(it Item) bool { return it.Excluded != "" }) {
		return nil
	}
	for _, unit := range l.units() {
		at := slices.IndexFunc(unit, func(i int) bool { return l.items[i].Excluded != "" })
		if at < 0 {
			continue
		}
		for _, i := range unit {
			why := Omission{Reason: l.items[i].Excluded}
			if why.Reason == "" {
				if l.items[i].Pinned {
					return &InvalidError{Field: "item.excluded", Ref: l.items[unit[at]].ID,
						Problem: "belongs to the same tool call as a pinned item; unpin it or do not exclude this item"}
				}
				why.Reason = l.items[unit[at]].Excluded
				why.Note = "goes with " + l.items[unit[at]].ID
			}
			l.omit(i, why)
		}
	}
	return nil
}

func (l *ladder) omit(i int, why Omission) {
	why.ID, why.Tokens = l.items[i].ID, l.items[i].Tokens
	if l.out == nil {
		l.out = make([]Omission, len(l.items))
	}
	l.out[i], l.gone[i] = why, true
	l.left--
	l.total -= l.tokens[i]
}

func (l *ladder) window() []Item {
	out := make([]Item, 0, l.left+1+len(l.state))
	for i := range l.items {
		if l.summary != nil && i == l.insertAt {
			out = append(out, *l.summary)
			for _, s := range l.state {
				out = append(out, s.Item)
			}
		}
		if !l.gone[i] {
			out = append(out, l.items[i])
			if last := &out[len(out)-1]; last.Tokens != l.tokens[i] {
				last.Kind, last.Tokens, last.Digest = KindStub, l.tokens[i], ""
			}
		}
	}
	ownCallIDs(out)
	return out
}

// ownCallIDs gives the items their own call ids, all in one array.
func ownCallIDs(items []Item) {
	n := 0
	for i := range items {
		n += len(items[i].CallIDs)
	}
	all := make([]string, 0, n)
	for i := range items {
		if items[i].CallIDs == nil {
			continue
		}
		from := len(all)
		all = append(all, items[i].CallIDs...)
		items[i].CallIDs = all[from:len(all):len(all)]
	}
}

// omitted returns the omitted items, in order, and reuses the memory of l.out.
func (l *ladder) omitted() []Omission {
	list := l.out[:0]
	for i, why := range l.out {
		if l.gone[i] {
			list = append(list, why)
		}
	}
	return list
}

// units groups the items that share tool calls, directly or over several other items. The
// groups are in the order of their first items, their items in list order.
func units(items []Item) [][]int {
	root := make([]int, len(items))
	var find func(int) int
	find = func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	first := map[string]int{}
	for i := range items {
		root[i] = i
		for _, call := range items[i].CallIDs {
			j, seen := first[call]
			if !seen {
				first[call] = i
				continue
			}
			a, b := find(i), find(j)
			root[max(a, b)] = min(a, b)
		}
	}
	at := make([]int, len(items))
	out := make([][]int, 0, len(items))
	backing := make([]int, len(items))
	for i := range items {
		r := find(i)
		if r == i {
			at[i] = len(out)
			backing[i] = i
			out = append(out, backing[i:i+1:i+1])
			continue
		}
		out[at[r]] = append(out[at[r]], i)
	}
	return out
}
