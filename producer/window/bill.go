package window

// Bill is what a provider says of one call's input.
type Bill struct {
	Window int // tokens of the whole input
	Read   int // tokens of it that came from the cache
}

// Recomputed returns the tokens that no cache had.
func (b Bill) Recomputed() int { return b.Window - b.Read }

// Settlement is what a pass was planned to cost beside what it did cost.
type Settlement struct {
	// Expected is what the plan had recomputed on the next call, in tokens: the
	// penalty and what was new anyway.
	Expected int
	// Recomputed is what the bill says.
	Recomputed int
	// BreakEven is after how many later calls the pass has paid for itself, by
	// the bill; Pays is false where it never does.
	BreakEven float64
	Pays      bool
}

// Surprise returns the tokens recomputed beyond the plan. Well above 0, the
// cache had lapsed, or something in front of the pass changed as well; a little
// off it, the estimator and the provider count differently.
func (s Settlement) Surprise() int { return s.Recomputed - s.Expected }

// Settle does the pass's arithmetic again with the bill of the first call after
// it. Fresh is what that call sent behind the pass's window, in tokens.
func (p Pass) Settle(fresh int, bill Bill) Settlement {
	s := Settlement{Expected: p.Penalty + fresh, Recomputed: bill.Recomputed()}
	s.BreakEven, s.Pays = p.Rates.BreakEven(s.Recomputed-fresh, p.SavedPerCall)
	return s
}
