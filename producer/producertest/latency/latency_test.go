package latency_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/producertest/latency"
)

// judged is a test whose errors are counted.
type judged struct {
	testing.TB
	errors int
}

func (j *judged) Errorf(string, ...any) { j.errors++ }
func (j *judged) Error(...any)          { j.errors++ }

// TestMeasure measures a provider in two ways. The second way is slower than the bar allows.
func TestMeasure(t *testing.T) {
	t.Parallel()
	provider := latency.Provider(t)
	direct := latency.Post(http.DefaultClient, provider.URL, latency.Request(100))
	reverse := latency.Post(http.DefaultClient, latency.Reverse(t, provider.URL).URL, latency.Request(100))
	settled := 0
	times := latency.Plan{Turns: 2, PerTurn: 3, Every: time.Microsecond}.Measure(latency.Way{Ask: direct, Settle: func() { settled++ }}, latency.Way{Ask: reverse})
	for _, of := range times {
		if len(of.First) != 6 || len(of.Whole) != 6 || of.First[0] <= 0 || of.Whole[0] < of.First[0] {
			t.Errorf("%+v", of)
		}
	}
	if settled != 2 {
		t.Errorf("settled %d times", settled)
	}
	of := func(d time.Duration) latency.Times {
		return latency.Times{First: []time.Duration{d}, Whole: []time.Duration{d}}
	}
	for own, want := range map[time.Duration]int{3 * time.Millisecond: 0, 5 * time.Millisecond: 2, 9 * time.Millisecond: 4} {
		j := &judged{TB: t}
		if latency.Check(j, of(time.Millisecond), of(2*time.Millisecond), of(own)); j.errors != want {
			t.Errorf("%s misses %d bars, want %d", own, j.errors, want)
		}
	}
	j := &judged{TB: t}
	failed := latency.Plan{Turns: 1, PerTurn: 1, Every: 1}.Measure(latency.Way{Ask: func(func()) error { return errors.New("away") }})
	if latency.Check(j, of(1), failed[0], failed[0]); j.errors != 1 {
		t.Error("a call that fails is no error")
	}
}
