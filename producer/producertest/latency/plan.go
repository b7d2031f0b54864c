package latency

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// Way is one way to a provider.
type Way struct {
	// Ask asks the provider once, and calls begun at the first byte of the answer. Several calls
	// run at once.
	Ask func(begun func()) error
	// Settle waits until the work in the background of earlier calls is done. Nil waits for
	// nothing.
	Settle func()
}

// Plan is how often and how fast the ways are asked.
type Plan struct {
	Turns   int           // of each way
	PerTurn int           // calls
	Every   time.Duration // between two calls
}

// Times are the times of the calls of a way.
type Times struct {
	First  []time.Duration // until the first byte
	Whole  []time.Duration
	Failed []error // of the calls without times
}

// Measure asks by the ways in turns, and returns their times.
func (p Plan) Measure(ways ...Way) []Times {
	times := make([]Times, len(ways))
	for range p.Turns {
		for i, way := range ways {
			p.turn(way, &times[i])
			if way.Settle != nil {
				way.Settle()
			}
		}
	}
	return times
}

func (p Plan) turn(way Way, to *Times) {
	var all sync.WaitGroup
	var mu sync.Mutex
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for range p.PerTurn {
		<-tick.C
		all.Go(func() {
			start := time.Now()
			var first time.Duration
			err := way.Ask(func() { first = time.Since(start) })
			whole := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				to.Failed = append(to.Failed, err)
				return
			}
			to.First, to.Whole = append(to.First, first), append(to.Whole, whole)
		})
	}
	all.Wait()
}

// at returns a quantile in milliseconds.
func at(list []time.Duration, quantile float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return float64(list[int(float64(len(list)-1)*quantile)].Microseconds()) / 1000
}

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
