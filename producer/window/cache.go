package window

// Segment is a run of tokens in a request as the provider's prefix cache sees
// it. Two segments are the same when Ref and Tokens are; a Ref should therefore
// change with the content, as a digest does.
type Segment struct {
	Ref    string
	Tokens int
}

// Reuse compares a request with the one before it in the same cache lineage. All
// numbers are tokens.
type Reuse struct {
	WindowBefore   int // size of the earlier request
	WindowAfter    int // size of this one
	ChangePosition int // length of the longest common prefix
	Recomputed     int // WindowAfter - ChangePosition: expected, not billed
	LostCached     int // WindowBefore - ChangePosition
}

// Reused returns the tokens that the cache can serve: those before the change.
func (r Reuse) Reused() int { return r.ChangePosition }

// Penalty returns what the change cost beyond the tokens that are new anyway,
// where fresh is their number. A stub is not new: it is part of the penalty.
func (r Reuse) Penalty(fresh int) int { return r.Recomputed - fresh }

// Compare finds what a prefix cache keeps from one request to the next: the
// longest common prefix, and everything from the first changed position on has
// to be computed again.
//
// Source: seed 004 (elision and cache-friendliness), shared/vectors/elision.json.
func Compare(before, after []Segment) Reuse {
	r := Reuse{WindowBefore: sum(before), WindowAfter: sum(after)}
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			break
		}
		r.ChangePosition += before[i].Tokens
	}
	r.Recomputed = r.WindowAfter - r.ChangePosition
	r.LostCached = r.WindowBefore - r.ChangePosition
	return r
}

func sum(segments []Segment) int {
	n := 0
	for _, s := range segments {
		n += s.Tokens
	}
	return n
}

// CacheRates are a provider's prices for cached tokens, as multiples of its
// price for an input token.
type CacheRates struct {
	Read  float64 // a token read from the cache
	Write float64 // a token computed and written to it
}

// DefaultCacheRates returns 0.10 for a read and 1.25 for a write, the ratios
// that the vectors use. They are one provider's; pass your own.
func DefaultCacheRates() CacheRates { return CacheRates{Read: 0.10, Write: 1.25} }

// Units returns what a request costs, in input tokens.
func (c CacheRates) Units(reused, recomputed int) float64 {
	return float64(reused)*c.Read + float64(recomputed)*c.Write
}

// BreakEven returns after how many later calls an elision has paid for itself:
// penalty*(Write-Read) / (saved*Read), where saved is what each later call does
// not read any more (elided tokens minus stubs). It is 0 where there is no
// penalty. It returns false where it never pays: nothing is saved, or reading
// costs nothing.
func (c CacheRates) BreakEven(penalty, saved int) (calls float64, ok bool) {
	switch {
	case penalty <= 0:
		return 0, true
	case saved <= 0 || c.Read <= 0:
		return 0, false
	}
	return max(0, float64(penalty)*(c.Write-c.Read)/(float64(saved)*c.Read)), true
}
