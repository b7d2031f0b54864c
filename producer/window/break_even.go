package window

// CacheRates are a provider's prices for cached tokens, as multiples of its
// price for an input token.
type CacheRates struct {
	Read  float64 // price of a token that is read from the cache
	Write float64 // price of a token that is computed and written to the cache
}

// DefaultCacheRates returns 0.10 for a read and 1.25 for a write, the ratios of the
// vectors. The ratios of other providers differ; pass your own.
func DefaultCacheRates() CacheRates { return CacheRates{Read: 0.10, Write: 1.25} }

// Units returns the cost of a request, in input tokens.
func (c CacheRates) Units(reused, recomputed int) float64 {
	return float64(reused)*c.Read + float64(recomputed)*c.Write
}

// BreakEven returns the number of later calls after which an elision has paid for itself:
// penalty*(Write-Read) / (saved*Read). Saved is the number of tokens that each later call
// no longer reads: elided tokens minus stubs. BreakEven returns 0 without a penalty.
// BreakEven returns false if the elision never pays for itself: nothing is saved, or
// reading costs nothing.
func (c CacheRates) BreakEven(penalty, saved int) (calls float64, ok bool) {
	switch {
	case penalty <= 0:
		return 0, true
	case saved <= 0 || c.Read <= 0:
		return 0, false
	}
	return max(0, float64(penalty)*(c.Write-c.Read)/(float64(saved)*c.Read)), true
}
