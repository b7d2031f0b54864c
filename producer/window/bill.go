package window

// Bill is a provider's bill for the input of one call.
type Bill struct {
	Window int // tokens of the whole input
	Read   int // tokens of the input that came from the cache
}

// Recomputed returns the number of input tokens that no cache had.
func (b Bill) Recomputed() int { return b.Window - b.Read }

// Settlement compares the planned cost of a pass with its billed cost.
type Settlement struct {
	// Expected is the planned number of tokens that the next call computes: the penalty and
	// the new tokens.
	Expected int
	// Recomputed is the number of computed tokens in the bill.
	Recomputed int
	// BreakEven is the number of later calls after which the pass has paid for itself, by
	// the bill. Pays is false if the pass never pays for itself.
	BreakEven float64
	Pays      bool
}

// Surprise returns the number of tokens that were recomputed beyond the plan. A large
// positive number means that the cache had expired, or content before the pass changed as
// well. A small difference means that the estimator and the provider count differently.
func (s Settlement) Surprise() int { return s.Recomputed - s.Expected }

// Settle repeats the pass's computation with the bill of the first call after the pass.
// Fresh is the number of tokens that this call sent after the pass's window.
func (p Pass) Settle(fresh int, bill Bill) Settlement {
	s := Settlement{Expected: p.Penalty + fresh, Recomputed: bill.Recomputed()}
	s.BreakEven, s.Pays = p.Rates.BreakEven(s.Recomputed-fresh, p.SavedPerCall)
	return s
}
