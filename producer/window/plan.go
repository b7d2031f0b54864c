package window

import (
	"cmp"
	"slices"
)

// Plan is what a call's window will hold and how it came about. It is plain
// data: the same input gives an equal Plan.
type Plan struct {
	Policy       Policy // that it was made by
	Budget       Budget
	Limit        int // tokens that the prompt may have
	Target       int // tokens to which the ladder worked down; at most Limit
	TokensBefore int // all candidates that the runtime did not exclude
	TokensAfter  int // the window
	// Pressed is true when the ladder had to run. Steps are listed either way.
	Pressed bool
	Steps   []Rung
	// Window holds the items to send, in order. A compacted tool result is of
	// KindStub and has its new size; a summary stands where the first item that it
	// replaces stood.
	Window []Item
	// Omitted holds every candidate that is not in Window, in candidate order.
	Omitted []Omission
}

// Rung is one step of the ladder as it went.
type Rung struct {
	Number       int // 1 to 5, the seed's number
	Step         Step
	Outcome      Outcome
	Note         string // why, where the outcome alone does not say; no content
	TokensBefore int
	TokensAfter  int
	Dropped      []string      // items that left the window, in the order in which they left
	Replaced     []Replacement // what was put in their place
}

// Omission is one candidate that is not in the window.
type Omission struct {
	ID         string
	Tokens     int
	Reason     Reason
	Step       Step   // the step that left it out; empty where the runtime excluded it
	ReplacedBy string // the summary that covers it
	Note       string // e.g. that it went with its tool call
}

// Replacement is something shorter that stands for items.
type Replacement struct {
	Of     []string // item ids, in window order
	ID     string   // of the summary or stub; a stub's may be empty
	Layer  string   // of the summary; empty is LayerSummary
	Before int      // tokens of what it stands for
	After  int      // tokens of itself
	// ReloadRef is where a tool output can be read again; empty is unknown. A
	// summary has none.
	ReloadRef string
	// State is what is put back beside a summary: items that are no candidates.
	State []Reinjected
}

// size is what the replacement takes in all.
func (r Replacement) size() int {
	n := r.After
	for _, s := range r.State {
		n += s.Item.Tokens
	}
	return n
}

// Selected returns the candidates that are in the window, in order. With the
// ids of Omitted they are exactly the candidates.
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

// Shortened returns the tool outputs of the window that step 4 compacted, in
// window order. Index and Position are places in Window. What a later step took
// out is not among them.
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
