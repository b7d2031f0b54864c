package window

import (
	"fmt"
	"slices"
)

// Level says how much of an elided item stays (seed 004).
type Level string

// The five levels of the ladder of elision.
const (
	Trivial    Level = "trivial"    // nothing: the item is removed
	Simple     Level = "simple"     // a one-line stub
	Offloaded  Level = "offloaded"  // the stub says where to reload it from
	Summarized Level = "summarized" // the stub says what the agent did with it
	Hybrid     Level = "hybrid"     // a level for each item, by the policy
)

// Valid reports whether l is one of the five levels.
func (l Level) Valid() bool {
	return slices.Contains([]Level{Trivial, Simple, Offloaded, Summarized, Hybrid}, l)
}

// Cut is one item that a pass is to elide, and what is to stand for it.
type Cut struct {
	Level      Level  // for this item; not Hybrid
	StubTokens int    // size of the stub; 0 for Trivial
	ReloadRef  string // where the content is; needed for Offloaded
	// Note says what the agent did with the item, as its stub does. At most [MaxNote]
	// bytes; it is recorded, so nothing secret. A Trivial cut has none.
	Note string
	// StubDigest is the keyed digest of the stub; empty is unknown.
	StubDigest string
	// Reason says why this item is elided, and not another. At most [MaxNote] bytes;
	// needed where [Style.Weigh] decides.
	Reason string
}

// MaxNote is the most bytes of a note and of a reason: each is a sentence, not content.
const MaxNote = 1024

// Standing is an item and where it stands in the window, for a decision by length,
// ephemerality and recency.
type Standing struct {
	Item  Item
	Index int // place in the window, from 0
	Ahead int // tokens in front of it
	After int // tokens behind it; after a cut the provider computes them again
	Age   int // user messages behind it: 0 is the current turn
}

// Rules are a hybrid decision by length, ephemerality and recency; for [Style.Weigh].
//
// Source: seed 004 (elision, level 5).
type Rules struct {
	LongTokens     int            // items of so many tokens are long; 0 is every item
	LongTurns      int            // age from which long items are elided
	EphemeralTurns int            // age from which ephemeral items are elided, whatever their size
	Cut            func(Item) Cut // what is done with them; its reason is that of the rules
}

// Weigh decides on one item, and says why.
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

// Style says how chosen items are elided.
type Style struct {
	// Level is that of the pass, and of each item unless it is Hybrid.
	Level Level
	// StubTokens is the size of a stub. Not used for Trivial and Hybrid.
	StubTokens int
	// ReloadRef names where an item's content can be read again. Needed for
	// Offloaded, else unused.
	ReloadRef func(Item) string
	// Note says what the agent did with an item; see [Cut]. For Summarized, else
	// unused. Nil means that nothing is said.
	Note func(Item) string
	// Decide gives each item its own cut, or false to keep it. It must answer equally
	// for equal items. Weigh is the same by where the item stands, and gives a reason.
	// One of the two is needed for Hybrid; else they are unused.
	Decide func(Item) (Cut, bool)
	Weigh  func(Standing) (Cut, bool)
	// WholeCalls makes one stub stand for a tool call and its results, in the
	// call's place. Otherwise the call stays and its results become stubs. A
	// Trivial cut always removes both.
	WholeCalls bool
}

// Elided is one item that a pass shortened or removed. Numbers are tokens of the
// window before the pass.
type Elided struct {
	ID        string
	CallID    string // the tool call, where it belongs to exactly one
	Index     int    // place of the item in the window, from 0
	Position  int    // tokens in front of it
	Before    int    // its size
	Stub      int    // size of what stands for it; 0 when it is removed
	Level     Level
	ReloadRef string
	// Note, StubDigest and Reason are those of the [Cut].
	Note, StubDigest, Reason string
}

// Pass is an elision before anything is applied: what it would change and what
// that would cost on the next call. It is plain data: the same input gives an
// equal Pass.
type Pass struct {
	Policy  string // the policy's name
	Trigger string // what set it off; empty when it did not fire
	Level   Level
	Elided  []Elided // in window order
	Was     []Item   // the elided items as they were, in parallel
	Window  []Item   // the window after it; an elided item is of KindStub
	// Head is what is injected after it, and Moved what it did about that: its
	// removals name no pass yet.
	Head  Head
	Moved HeadChange

	TokensBefore int
	TokensAfter  int
	// FirstChanged is the length of the prefix that stays as it is, in tokens;
	// TokensBefore when nothing changes.
	FirstChanged int
	// Penalty is how many surviving, stub and moved tokens have to be computed
	// again: TokensAfter - FirstChanged. The next call's new tokens come on top.
	Penalty int
	// SavedPerCall is how many tokens each later call does not send any more.
	SavedPerCall int
	// Rates are those of the history, or the default ones.
	Rates CacheRates
}

// BreakEven returns after how many later calls the pass has paid for itself; see
// [CacheRates.BreakEven].
func (p Pass) BreakEven() (calls float64, ok bool) {
	return p.Rates.BreakEven(p.Penalty, p.SavedPerCall)
}

// PlanElision plans one pass over the window and applies nothing. Pinned items
// and stubs of earlier passes stay, what is injected at the head is not elided
// but moved, and a whole tool call stays where one item of it is pinned. A pass
// that elides nothing moves nothing, either. The error is an [*InvalidError].
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

// apply fills the pass from the cuts, which run parallel to the items.
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
			p.Window = append(p.Window, it) // until it is placed
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
