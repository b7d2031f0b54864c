package window

import (
	"math"
	"slices"
)

// Compaction is a part of a window that a summary replaces. Plan a Compaction with
// [PlanCompaction].
type Compaction struct {
	Source []Item // items to replace, in window order; not empty
	Tail   []Item // items that stay after the last one of Source
	// SourceTokens is the size of Source, TokensBefore the size of the whole window.
	SourceTokens int
	TokensBefore int

	before []Item
	head   []Item // items before the first one of Source
	rest   []Item // items that stay after the first one of Source, in order; Tail is its end
	named  map[string]bool
}

// Reinjected is system state that is put back next to a summary (seed 004): the loaded
// skills, the to-do list, recently read files.
type Reinjected struct {
	Kind string // e.g. "skills", "todo", "recent_files"
	Item Item   // a separate item, not an item that the summary replaces
}

// Oldest returns the ids of the items that a compaction may replace, in order: all old
// conversation and earlier summaries except the newest keepLast items. Pinned items and the
// newest user message stay. A tool call stays as a whole if one item of it stays. The
// ladder's third step uses this choice. The error is an [*InvalidError].
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

// PlanCompaction plans the replacement of the named items of a window and changes nothing.
// All items may be named except pinned and fixed ones. A tool call must be named as a
// whole. The error is an [*InvalidError].
func PlanCompaction(items []Item, source []string) (Compaction, error) {
	if err := validateItems(items); err != nil {
		return Compaction{}, err
	}
	named := make(map[string]bool, len(source))
	for _, id := range source {
		if named[id] {
			return Compaction{}, &InvalidError{Field: "compaction.source", Ref: id, Problem: "is listed twice"}
		}
		named[id] = true
	}
	c := Compaction{before: slices.Clone(items), named: named}
	for _, it := range items {
		c.TokensBefore += it.Tokens
		switch {
		case named[it.ID] && (it.Pinned || it.Kind == KindFixed):
			return Compaction{}, &InvalidError{Field: "compaction.source", Ref: it.ID, Problem: "is pinned or fixed and cannot be replaced"}
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
		return Compaction{}, &InvalidError{Field: "compaction.source", Problem: "is empty; name the items to summarize"}
	case len(c.Source) != len(source):
		return Compaction{}, &InvalidError{Field: "compaction.source", Problem: "names an item that is not in the window"}
	}
	return c, c.whole(items)
}

// whole returns an error if a part of a tool call would stay.
func (c Compaction) whole(items []Item) error {
	for _, unit := range units(items) {
		in := 0
		for _, i := range unit {
			if c.named[items[i].ID] {
				in++
			}
		}
		if in != 0 && in != len(unit) {
			return &InvalidError{Field: "compaction.source", Ref: items[unit[0]].ID, Problem: "belongs to a tool call of which another part would stay; name the whole call"}
		}
	}
	return nil
}

// Window returns the window after the compaction. The summary takes the place of the first
// replaced item, and the reinjected state follows. The error is [ErrNotSmaller] if both
// together are not smaller than the source.
//
// The error is an [*InvalidError] for a summary or state without an id or size, or with the
// id of another item. Messages of the model as state also give an [*InvalidError]. The
// model's messages are history and not state.
func (c Compaction) Window(summary Item, state ...Reinjected) ([]Item, error) {
	summary.Kind = KindSummary
	if summary.Tokens <= 0 {
		return nil, &InvalidError{Field: "summary.tokens", Ref: summary.ID, Problem: "must be more than 0, because a summary is a text"}
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
		return nil, &InvalidError{Field: "summary.id", Ref: summary.ID, Problem: "is the id of an item that the summary replaces"}
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
		return &InvalidError{Field: "reinjected.item", Ref: r.Item.ID, Problem: "is an item that the summary replaces"}
	case r.Item.Role == RoleAssistant:
		return &InvalidError{Field: "reinjected.item", Ref: r.Item.ID, Problem: "is a message of the model, not state of the system"}
	}
	return nil
}

// Before returns the window before the compaction.
func (c Compaction) Before() []Item { return slices.Clone(c.before) }
