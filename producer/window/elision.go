package window

import (
	"fmt"
	"slices"
)

// Level is the amount that stays of an elided item (seed 004).
type Level string

// The five levels of the ladder of elision.
const (
	Trivial    Level = "trivial"    // nothing: the item is removed
	Simple     Level = "simple"     // a one-line stub
	Offloaded  Level = "offloaded"  // a stub with the place to reload the content from
	Summarized Level = "summarized" // a stub with a note about the agent's use of the item
	Hybrid     Level = "hybrid"     // a level for each item, by the policy
)

// Valid reports whether l is one of the five levels.
func (l Level) Valid() bool {
	return slices.Contains([]Level{Trivial, Simple, Offloaded, Summarized, Hybrid}, l)
}

// Cut is one item that a pass elides, and its stub.
type Cut struct {
	Level      Level  // level of this item; not Hybrid
	StubTokens int    // size of the stub; 0 for Trivial
	ReloadRef  string // place of the content; required for Offloaded
	// Note is the stub's text about the agent's use of the item, at most [MaxNote] bytes.
	// Note is recorded and must hold no secrets. A Trivial cut has none.
	Note string
	// StubDigest is the keyed digest of the stub; empty is unknown.
	StubDigest string
	// Reason is the reason to elide this item, at most [MaxNote] bytes. Required if
	// [Style.Weigh] decides.
	Reason string
}

// MaxNote is the largest number of bytes of a note or a reason: each is a sentence, not
// content.
const MaxNote = 1024

// Standing is an item with its place in the window, for a decision by length, ephemerality
// and recency.
type Standing struct {
	Item  Item
	Index int // place in the window, from 0
	Ahead int // tokens before the item
	After int // tokens after the item; after a cut the provider computes them again
	Age   int // user messages after the item: 0 is the current turn
}

// Rules decide by length, ephemerality and recency at the Hybrid level; for [Style.Weigh].
//
// Source: seed 004 (elision, level 5).
type Rules struct {
	LongTokens     int            // smallest size of a long item; 0 makes every item long
	LongTurns      int            // age from which long items are elided
	EphemeralTurns int            // age from which ephemeral items of any size are elided
	Cut            func(Item) Cut // returns the cut of an item; the rules give its reason
}

// Weigh returns the cut of one item, with its reason.
func (r Rules) Weigh(s Standing) (Cut, bool) {
	why := ""
	switch {
	case s.Item.Ephemeral && s.Age >= r.EphemeralTurns:
		why = fmt.Sprintf("ephemeral, turns since: %d", s.Age)
	case s.Item.Tokens >= r.LongTokens && s.Age >= r.LongTurns:
		why = fmt.Sprintf("%d tokens, turns since: %d", s.Item.Tokens, s.Age)
	default:
		return Cut{}, false
	}
	cut := r.Cut(s.Item)
	cut.Reason = why
	return cut, true
}

// Style describes the elision of the chosen items.
type Style struct {
	// Level is the level of the pass, and of each item unless Level is Hybrid.
	Level Level
	// StubTokens is the size of a stub. Not used for Trivial and Hybrid.
	StubTokens int
	// ReloadRef returns the place from which an item's content can be loaded again.
	// Required for Offloaded, otherwise unused.
	ReloadRef func(Item) string
	// Note returns the note about the agent's use of an item; see [Cut]. Used only for
	// Summarized. Nil means no note.
	Note func(Item) string
	// Decide returns a separate cut for each item, or false to keep the item. Decide must
	// give equal answers for equal items. Weigh decides by the place of the item and gives
	// a reason. Hybrid requires one of the two; otherwise both are unused.
	Decide func(Item) (Cut, bool)
	Weigh  func(Standing) (Cut, bool)
	// WholeCalls replaces a tool call and its results by one stub, in the call's place.
	// Without WholeCalls the call stays, and its results become stubs. A Trivial cut always
	// removes both.
	WholeCalls bool
}

// Elided is one item that a pass shortened or removed. Numbers are tokens of the
// window before the pass.
type Elided struct {
	ID        string
	CallID    string // id of the tool call, if the item belongs to exactly one
	Index     int    // place of the item in the window, from 0
	Position  int    // tokens before the item
	Before    int    // size of the item
	Stub      int    // size of the stub; 0 if the item is removed
	Level     Level
	ReloadRef string
	// Note, StubDigest and Reason are the fields of the [Cut].
	Note, StubDigest, Reason string
}

// Pass is a planned elision: its changes and their cost on the next call. Pass is plain
// data: the same input gives an equal Pass.
type Pass struct {
	Policy  string // the policy's name
	Trigger string // reason for the pass; empty if the policy did not fire
	Level   Level
	Elided  []Elided // in window order
	Was     []Item   // the elided items before the pass, in parallel
	Window  []Item   // the window after the pass; an elided item is of KindStub
	// Head is the injected content after the pass. Moved is the change of the head; its
	// removals name no pass yet.
	Head  Head
	Moved HeadChange

	TokensBefore int
	TokensAfter  int
	// FirstChanged is the length of the unchanged prefix, in tokens. Without a change,
	// FirstChanged is TokensBefore.
	FirstChanged int
	// Penalty is the number of surviving, stub and moved tokens that are computed again:
	// TokensAfter - FirstChanged. The next call's new tokens are extra.
	Penalty int
	// SavedPerCall is the number of tokens that each later call no longer sends.
	SavedPerCall int
	// Rates are the rates of the history, or the default rates.
	Rates CacheRates
}

// BreakEven returns the number of later calls after which the pass has paid for itself; see
// [CacheRates.BreakEven].
func (p Pass) BreakEven() (calls float64, ok bool) {
	return p.Rates.BreakEven(p.Penalty, p.SavedPerCall)
}

// PlanElision plans one pass over the window and changes nothing. Pinned items and stubs of
// earlier passes stay. Injected content of the head is moved, not elided. A tool call stays
// as a whole if one item of it is pinned. A pass without elided items moves nothing. The
// error is an [*InvalidError].
//
// Source: seed 004 (elision).
func PlanElision(h History, policy ElisionPolicy, style Style) (Pass, error) {
	if err := style.validate(); err != nil {
		return Pass{}, err
	}
	if err := validateItems(h.Items); err != nil {
		return Pass{}, err
	}
	pass := Pass{Policy: policy.Name, Level: style.Level, Rates: h.Rates, Head: h.Head}
	if pass.Rates == (CacheRates{}) {
		pass.Rates = DefaultCacheRates()
	}
	chosen := make([]bool, len(h.Items))
	if policy.Select != nil {
		indexes, trigger := policy.Select(h)
		for _, i := range indexes {
			if i < 0 || i >= len(h.Items) {
				return Pass{}, &InvalidError{Field: "elision_policy", Ref: policy.Name, Problem: "chose an item outside of the window"}
			}
			chosen[i] = !h.Head.attaches(h.Items[i].ID)
		}
		pass.Trigger = trigger
	}
	cuts, err := style.cuts(h.Items, chosen)
	if err != nil {
		return Pass{}, err
	}
	if slices.ContainsFunc(cuts, func(c *Cut) bool { return c != nil }) {
		pass.Head, pass.Moved = h.Head.Pass("")
	}
	pass.apply(h.Items, cuts)
	return pass, nil
}

// apply fills the pass from the cuts, which are parallel to the items.
func (p *Pass) apply(items []Item, cuts []*Cut) {
	p.FirstChanged = -1
	p.Window = make([]Item, 0, len(items))
	for i, it := range items {
		cut, moved := cuts[i], p.Moved.removes(it.ID)
		if cut == nil && !moved {
			p.Window = append(p.Window, it)
			p.TokensBefore += it.Tokens
			continue
		}
		if p.FirstChanged < 0 {
			p.FirstChanged = p.TokensBefore
		}
		if moved {
			p.Window = append(p.Window, it) // Place moves the item below
			p.TokensBefore += it.Tokens
			continue
		}
		p.Elided = append(p.Elided, Elided{
			ID: it.ID, CallID: it.onlyCall(), Index: i, Position: p.TokensBefore, Before: it.Tokens,
			Stub: cut.StubTokens, Level: cut.Level, ReloadRef: cut.ReloadRef,
			Note: cut.Note, StubDigest: cut.StubDigest, Reason: cut.Reason,
		})
		p.Was = append(p.Was, it)
		p.TokensBefore += it.Tokens
		if cut.StubTokens > 0 {
			it.Kind, it.Tokens, it.Digest = KindStub, cut.StubTokens, ""
			p.Window = append(p.Window, it)
		}
	}
	if len(p.Moved.Removed) > 0 {
		p.Window = p.Head.Place(p.Window, p.Moved)
	}
	ownCallIDs(p.Window)
	for i := range p.Window {
		p.TokensAfter += p.Window[i].Tokens
	}
	if p.FirstChanged < 0 {
		p.FirstChanged = p.TokensBefore
		return
	}
	p.Penalty = p.TokensAfter - p.FirstChanged
	p.SavedPerCall = p.TokensBefore - p.TokensAfter
}

func (s Style) validate() error {
	switch {
	case !s.Level.Valid():
		return &InvalidError{Field: "elision.level", Ref: string(s.Level), Problem: "is not one of the five levels"}
	case s.Level == Hybrid && s.Decide == nil && s.Weigh == nil:
		return &InvalidError{Field: "elision.decide", Problem: "or weigh is needed for the hybrid level"}
	case s.Level == Hybrid && s.Decide != nil && s.Weigh != nil:
		return &InvalidError{Field: "elision.decide", Problem: "and weigh are both given; give only one"}
	case s.Level == Offloaded && s.ReloadRef == nil:
		return &InvalidError{Field: "elision.reload_ref", Problem: "is needed for the offloaded level"}
	case s.Level != Trivial && s.Level != Hybrid && s.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Problem: "must be more than 0, because a stub is a text"}
	}
	return nil
}

// cuts returns the cut of each item, or nil if the item stays. A call and its results are
// treated as one unit.
func (s Style) cuts(items []Item, chosen []bool) ([]*Cut, error) {
	cuts := make([]*Cut, len(items))
	if s.Level == Hybrid && s.Weigh != nil {
		s.Decide = weighed(items, s.Weigh)
	}
	for _, unit := range units(items) {
		if err := s.cutUnit(items, unit, chosen, cuts); err != nil {
			return nil, err
		}
	}
	return cuts, nil
}

func (s Style) cutUnit(items []Item, unit []int, chosen []bool, cuts []*Cut) error {
	whole := len(unit) > 1
	for _, i := range unit {
		if items[i].Pinned {
			return nil
		}
		// A call may be cut with its results. Any other item is cut only if it is chosen.
		whole = whole && (chosen[i] || items[i].Kind == KindToolCall) && items[i].Kind != KindStub
	}
	for _, i := range unit {
		if !chosen[i] || items[i].Kind == KindStub {
			continue
		}
		cut, keep, err := s.cut(items[i])
		switch {
		case err != nil:
			return err
		case keep:
		case whole && (cut.Level == Trivial || s.WholeCalls && cut.StubTokens < size(items, unit)):
			for k, j := range unit {
				cuts[j] = &Cut{Level: cut.Level, ReloadRef: cut.ReloadRef, Reason: cut.Reason}
				if k == 0 {
					cuts[j].StubTokens, cuts[j].Note, cuts[j].StubDigest = cut.StubTokens, cut.Note, cut.StubDigest
				}
			}
			return nil
		case len(unit) > 1 && (cut.Level == Trivial || items[i].Kind == KindToolCall):
			// The item stays, so no call loses its result and no result its call.
		case cut.StubTokens < items[i].Tokens:
			cuts[i] = &cut
		}
	}
	return nil
}

func size(items []Item, unit []int) int {
	sum := 0
	for _, i := range unit {
		sum += items[i].Tokens
	}
	return sum
}

// cut returns the style's cut of one item, or keep.
func (s Style) cut(it Item) (cut Cut, keep bool, err error) {
	switch s.Level {
	case Trivial:
		return Cut{Level: Trivial}, false, nil
	case Hybrid:
		cut, elide := s.Decide(it)
		if !elide {
			return Cut{}, true, nil
		}
		if s.Weigh != nil && cut.Reason == "" {
			return Cut{}, false, &InvalidError{Field: "elision.reason", Ref: it.ID, Problem: "must give the reason for eliding this item"}
		}
		return cut, false, cut.validate(it)
	case Offloaded:
		cut = Cut{Level: Offloaded, StubTokens: s.StubTokens, ReloadRef: s.ReloadRef(it)}
		return cut, false, cut.validate(it)
	}
	cut = Cut{Level: s.Level, StubTokens: s.StubTokens}
	if s.Level == Summarized && s.Note != nil {
		cut.Note = s.Note(it)
	}
	return cut, false, cut.validate(it)
}

// weighed converts a decision by place into a decision by item.
func weighed(items []Item, weigh func(Standing) (Cut, bool)) func(Item) (Cut, bool) {
	standings := make(map[string]Standing, len(items))
	total, users := 0, 0
	for i, it := range items {
		standings[it.ID] = Standing{Item: it, Index: i, Ahead: total, Age: users}
		total += it.Tokens
		if it.userMessage() {
			users++
		}
	}
	return func(it Item) (Cut, bool) {
		s := standings[it.ID]
		s.After, s.Age = total-s.Ahead-it.Tokens, users-s.Age
		if it.userMessage() {
			s.Age-- // without the item itself
		}
		return weigh(s)
	}
}

func (c Cut) validate(it Item) error {
	switch {
	case !c.Level.Valid() || c.Level == Hybrid:
		return &InvalidError{Field: "elision.level", Ref: it.ID, Problem: "must be a level other than hybrid for each item"}
	case len(c.Note) > MaxNote || len(c.Reason) > MaxNote:
		return &InvalidError{Field: "elision.note", Ref: it.ID, Problem: "or reason is longer than 1024 bytes; give one sentence"}
	case c.Level == Trivial && (c.Note != "" || c.StubDigest != ""):
		return &InvalidError{Field: "elision.note", Ref: it.ID, Problem: "must be empty, because the item is removed and has no stub"}
	case c.Level == Trivial && c.StubTokens != 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "must be 0, because the item is removed and has no stub"}
	case c.Level != Trivial && c.StubTokens <= 0:
		return &InvalidError{Field: "elision.stub_tokens", Ref: it.ID, Problem: "must be more than 0"}
	case c.Level == Offloaded && c.ReloadRef == "":
		return &InvalidError{Field: "elision.reload_ref", Ref: it.ID, Problem: "must name the place to reload the item from"}
	}
	return nil
}
