package river

import "time"

// Call is one model call. A nil number is unknown.
type Call struct {
	Number                 int // among the drawn calls of the session; 1 is first
	Thread, Run, ParentRun string
	Agent, Turn, Call      string
	Attempt, Model         string
	At                     time.Time
	Limit                  *int64   // tokens of the model's window
	Billed, Estimated      *int64   // tokens of the window
	Corrected              *int64   // estimated tokens, corrected by other bills of the session
	CorrectedError         *float64 // (corrected − billed) / billed
	Read, Written, Neither *int64   // billed tokens by cache bucket
	Prefix, Fresh, Again   *int64   // estimated tokens: kept, new, computed again
	Lost                   *int64   // tokens that were in the cache and were not read
	Cause                  string
	Pause                  *float64 // seconds since the previous call
	Cost                   *float64 // recorded, or by the price list
	AtLeast                bool     // Cost is a lower bound: a count is not known or not final
	Currency               string
	Threshold              *int64   // tokens above which the runtime shortens the window
	BreakCost              *float64 // part of Cost that a break of the cache caused
	Reason                 string   // why the cache broke, by the provider; empty if it gave none
	Fidelity, Coverage     string   // how the call is known, and whether its record has all
	Lacks                  []string // why the coverage is partial
	Bands                  []Band
	Withheld, Gaps, Elided int // facts about this call
	ChildRuns              int
	Unsized                int   // layers of unknown size
	layered                int64 // tokens of all other layers
}

// Band is the part of a call's window that belongs to one layer.
type Band struct {
	Layer  Layer
	Tokens int64   // as estimated, or billed − estimated for Unexplained
	Drawn  float64 // tokens after scaling to the bill
}

// Top returns the height of the call's column in tokens, 0 if nothing is known.
func (c Call) Top() int64 {
	switch {
	case c.Billed != nil:
		return *c.Billed
	case c.layered > 0:
		return c.layered
	case c.Estimated != nil:
		return *c.Estimated
	}
	return 0
}

// Unexplained returns the billed tokens that no layer holds, nil without a bill.
func (c Call) Unexplained() *int64 {
	if c.Billed == nil {
		return nil
	}
	return new(max(0, *c.Billed-c.layered))
}

// PaidAgain returns the tokens that were lost from the cache and computed again, as billed. What left the
// window was lost and not computed again. It is nil without a bill.
func (c Call) PaidAgain() *int64 {
	if c.Lost == nil || c.Billed == nil || c.Read == nil {
		return nil
	}
	return new(max(0, min(*c.Lost, *c.Billed-*c.Read)))
}

// Layered returns the estimated tokens of all layers of known size.
func (c Call) Layered() int64 { return c.layered }

// Cut is a point at which a summary replaced a window, or at which results were elided.
type Cut struct {
	Thread        string
	Kind          string // compact_boundary or microcompact_boundary
	Record        string
	At            time.Time
	Trigger       string
	Before, After *int64 // tokens of the window, as the program reported or as billed
	Saved         *int64
	Next          int // number of the first call after it, 0 if there is none
}

// IsCompaction reports whether a summary replaced the window.
func (c Cut) IsCompaction() bool { return c.Kind == "compact_boundary" }

// Thread holds the calls of one thread, in order.
type Thread struct {
	ID, Run, ParentRun, Agent string
	Began                     int // number of the call that began this child run, 0 if none is known
	Calls                     []Call
	Cuts                      []Cut
}

// River is a session, drawn call by call.
type River struct {
	Session, Tenant string
	Agents, Models  []string
	Started, Ended  time.Time
	Turns           int64
	Threads         []Thread
	Calls           int // drawn calls
	Windowless      int // calls without any known window, which are not drawn
	Compactions     int
	Elisions        int
	Redactions      int
	Gaps, OpenGaps  int
	Keys            []Key
	Billed          bool // whether any call has a bill
	Unsized         bool // whether any layer of any call has an unknown size
}

// All returns the calls of all threads, in the order of their numbers.
func (r River) All() []Call {
	list := make([]Call, r.Calls)
	for _, t := range r.Threads {
		for _, c := range t.Calls {
			list[c.Number-1] = c
		}
	}
	return list
}
