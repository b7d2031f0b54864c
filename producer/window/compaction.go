package window

import (
	"math"
	"slices"
)

// Compaction is a stretch of a window that a summary is to stand for. Plan it
// with [PlanCompaction].
type Compaction struct {
	Source []Item // what the summary is to replace, in window order; not empty
	Tail   []Item // what stands behind the last of it and stays
	// SourceTokens is the size of Source, TokensBefore that of the whole window.
	SourceTokens int
	TokensBefore int

	before []Item
	head   []Item // what stands in front of the first of Source
	rest   []Item // what stays from there on, in order; Tail is its end
	named  map[string]bool
}

// Reinjected is system state that is put back beside a summary (seed 004): the
// loaded skills, the to-do list, recently read files.
type Reinjected struct {
	Kind string // e.g. "skills", "todo", "recent_files"
	Item Item   // an item of its own, not one that the summary stands for
}

// Oldest returns the ids of what a compaction may replace: all old conversation
// and earlier summaries but the newest keepLast items, in order. Pinned items
// and the newest user message stay, and so does a whole tool call where one item
// of it stays. It is the choice of the ladder's third step. The error is an
// [*InvalidError].
func Oldest(items []Item, keepLast int) ([]string, error) {
	if keepLast < 0 {
		return nil, &InvalidError{Field: "keep_last", Problem: "is negative"}
	}
	if err := validateItems(items); err != nil {
		return nil, err
	}
	l := newLadder(items, Budget{MaxTokens: math.MaxInt}, Policy{}, nil)
	source := slices.Concat(l.old(0, keepLast, true)...)
	slices.Sort(source)
	ids := make([]string, len(source))
	for k, i := range source {
		ids[k] = items[i].ID
	}
	return ids, nil
}

// PlanCompaction plans to replace the named items of a window and changes
// nothing. Any item may be named but pinned and fixed ones, and a tool call goes
// as a whole. The error is an [*InvalidError].
func PlanCompaction(items []Item, source []string) (Compaction, error) {
	if err := validateItems(items); err != nil {
		return Compaction{}, err
	}
	named := make(map[string]bool, len(source))
	for _, id := range source {
		if named[id] {
			return Compaction{}, &InvalidError{Field: "compaction.source", Ref: id, Problem: "is there twice"}
		}
		named[id] = true
	}
	c := Compaction{before: slices.Clone(items), named: named}
	for _, it := range items {
		c.TokensBefore += it.Tokens
		switch {
		case named[it.ID] && (it.Pinned || it.Kind == KindFixed):
			return Compaction{}, &InvalidError{Field: "compaction.source", Ref: it.ID, Problem: "is pinned or fixed, and stays"}
		case named[it.ID]:
			c.Source, c.Tail = append(c.Source, it), nil
			c.SourceTokens += it.Tokens
		case len(c.Source) == 0:
			c.head = append(c.head, it)
		default:
			c.rest, c.Tail = append(c.rest, it), append(c.Tail, it)
		}
	}
	switch {
	case len(c.Source) == 0:
		return Compaction{}, &InvalidError{Field: "compaction.source", Problem: "is empty: there is nothing to summarise"}
	case len(c.Source) != len(source):
		return Compaction{}, &InvalidError{Field: "compaction.source", Problem: "names an item that is not in the window"}
	}
	return c, c.whole(items)
}

// whole checks that no tool call is torn apart.
func (c Compaction) whole(items []Item) error {
	for _, unit := range units(items) {
		in := 0
		for _, i := range unit {
			if c.named[items[i].ID] {
				in++
			}
		}
		if in != 0 && in != len(unit) {
			return &InvalidError{Field: "compaction.source", Ref: items[unit[0]].ID, Problem: "belongs to a tool call of which a part would stay"}
		}
	}
	return nil
}

// Window returns the window after the compaction: the summary stands where the
// first item that it replaces stood, and what is put back follows it. The error
// is [ErrNotSmaller] where that takes as much room as the source or more, and an
// [*InvalidError] for a summary or state that cannot stand there: without an id
// or size, with the id of an item, or with what the model said, which is history
// and not state.
func (c Compaction) Window(summary Item, state ...Reinjected) ([]Item, error) {
	summary.Kind = KindSummary
	if summary.Tokens <= 0 {
		return nil, &InvalidError{Field: "summary.tokens", Ref: summary.ID, Problem: "must be more than 0: a summary is text"}
	}
	out := append(slices.Clone(c.head), summary)
	added := summary.Tokens
	for _, r := range state {
		if err := c.validate(r); err != nil {
			return nil, err
		}
		out = append(out, r.Item)
		added += r.Item.Tokens
	}
	out = append(out, c.rest...)
	if c.named[summary.ID] {
		return nil, &InvalidError{Field: "summary.id", Ref: summary.ID, Problem: "is that of an item that it stands for"}
	}
	if err := validateItems(out); err != nil {
		return nil, err
	}
	if added >= c.SourceTokens {
		return nil, ErrNotSmaller
	}
	return out, nil
}

func (c Compaction) validate(r Reinjected) error {
	switch {
	case r.Kind == "":
		return &InvalidError{Field: "reinjected.kind", Ref: r.Item.ID, Problem: "is empty"}
	case c.named[r.Item.ID]:
		return &InvalidError{Field: "reinjected.item", Ref: r.Item.ID, Problem: "is what the summary stands for"}
	case r.Item.Role == RoleAssistant:
		return &InvalidError{Field: "reinjected.item", Ref: r.Item.ID, Problem: "is what the model said, not state of the system"}
	}
	return nil
}

// Before returns the window as it was planned for.
func (c Compaction) Before() []Item { return slices.Clone(c.before) }
