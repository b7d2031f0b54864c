package latency

import (
	"slices"
	"testing"
	"time"
)

// Check logs the times of a proxy next to those of the direct way and of the reverse proxy. A bar
// that is missed, and a call that fails other than by the reverse proxy, is an error of the test.
func Check(t testing.TB, direct, reverse, own Times) {
	t.Helper()
	if n := len(reverse.Failed); n > 0 {
		t.Logf("the reverse proxy cut %d answers", n)
	}
	for _, err := range slices.Concat(direct.Failed, own.Failed) {
		t.Error(err)
	}
	for _, part := range []struct {
		name  string
		lists [3][]time.Duration
	}{
		{"first byte", [3][]time.Duration{direct.First, reverse.First, own.First}},
		{"whole", [3][]time.Duration{direct.Whole, reverse.Whole, own.Whole}},
	} {
		for _, bar := range []struct{ quantile, plus float64 }{{0.5, 1}, {0.99, 5}} {
			d, r, o := at(part.lists[0], bar.quantile), at(part.lists[1], bar.quantile), at(part.lists[2], bar.quantile)
			allowed := 2*max(r-d, 0) + bar.plus
			t.Logf("%s p%.0f: direct %.2f ms, reverse proxy %.2f ms, proxy %.2f ms; added %.2f ms of %.2f ms allowed", part.name, 100*bar.quantile, d, r, o, o-d, allowed)
			if o-d > allowed {
				t.Errorf("%s p%.0f is over the bar", part.name, 100*bar.quantile)
			}
		}
	}
}
