package latency

import (
	"slices"
	"sync"
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
