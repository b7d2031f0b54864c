package window

import (
	"cmp"
	"slices"
)

// Plan is the planned content of a call's window and the steps to it. Plan is plain data:
// the same input gives an equal Plan.
type Plan struct {
	Policy       Policy // policy of the plan
	Budget       Budget
	Limit        int // largest number of tokens in the prompt
	Target       int // number of tokens at which the ladder stops; at most Limit
	TokensBefore int // size of all candidates that the runtime did not exclude
	TokensAfter  int // size of the window
	// Pressed is true if the ladder had to run. Steps are listed in both cases.
	Pressed bool
	Steps   []Rung
	// Window holds the items to send, in order. A compacted tool result is of KindStub and
	// has its new size. A summary has the place of the first item that it replaces.
	Window []Item
	// Omitted holds every candidate that is not in Window, in candidate order.
	Omitted []Omission
}

// Rung is the result of one step of the ladder.
type Rung struct {
	Number       int // 1 to 5, the seed's number
	Step         Step
	Outcome      Outcome
	Note         string // reason, if the outcome does not show it; no content
	TokensBefore int
	TokensAfter  int
	Dropped      []string      // items that left the window, in the order in which they left
	Replaced     []Replacement // replacements in the window
}

// Omission is one candidate that is not in the window.
type Omission struct {
	ID         string
	Tokens     int
	Reason     Reason
	Step       Step   // step that omitted the item; empty if the runtime excluded it
	ReplacedBy string // id of the summary that covers the item
	Note       string // for example the tool call that the item left with
}

// Replacement is a shorter item that replaces items.
type Replacement struct {
	Of     []string // item ids, in window order
	ID     string   // of the summary or stub; a stub's may be empty
	Layer  string   // of the summary; empty is LayerSummary
	Before int      // tokens of the replaced items
	After  int      // tokens of the replacement
	// ReloadRef is the place from which a tool output can be loaded again; empty is
	// unknown. A summary has none.
	ReloadRef string
	// State holds the items that are put back next to a summary. These items are not
	// candidates.
	State []Reinjected
}

// size returns the tokens of the replacement and its state.
func (r Replacement) size() int {
	n := r.After
	for _, s := range r.State {
		n += s.Item.Tokens
	}
	return n
}

// Selected returns the candidates that are in the window, in order. Selected and the ids of
// Omitted are together exactly the candidates.
func (p Plan) Selected() []string {
	summaries := map[string]bool{} // and their state
	for _, rung := range p.Steps {
		if rung.Step == SummarizeMessages {
			for _, r := range rung.Replaced {
				summaries[r.ID] = true
				for _, s := range r.State {
					summaries[s.Item.ID] = true
				}
			}
		}
	}
	out := make([]string, 0, len(p.Window))
	for _, it := range p.Window {
		if !summaries[it.ID] {
			out = append(out, it.ID)
		}
	}
	return out
}

// Shortened returns the tool outputs of the window that step 4 compacted, in window order.
// Index and Position are places in Window. Outputs that a later step removed are not
// included.
func (p Plan) Shortened() (list []Elided) {
	stubs := map[string]Replacement{}
	for _, rung := range p.Steps {
		if rung.Step == CompactToolOutputs {
			for _, r := range rung.Replaced {
				stubs[r.Of[0]] = r
			}
		}
	}
	position := 0
	for i := range p.Window {
		it := &p.Window[i]
		if r, ok := stubs[it.ID]; ok {
			level := Simple
			if r.ReloadRef != "" {
				level = Offloaded
			}
			list = append(list, Elided{
				ID: it.ID, CallID: it.onlyCall(), Index: i, Position: position,
				Before: r.Before, Stub: r.After, Level: level, ReloadRef: r.ReloadRef,
			})
		}
		position += it.Tokens
	}
	return list
}

// OmittedTokens returns the sum of the omitted candidates' sizes.
func (p Plan) OmittedTokens() int {
	sum := 0
	for _, o := range p.Omitted {
		sum += o.Tokens
	}
	return sum
}

func largestFirst(items []Item) []Item {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Item) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return out
}
