package read_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestCorrectedWindows: the bills of a session are 1000 tokens and 1.25 times the estimate. A bill that
// does not fit is the error of its own correction and of the next call's. The stored estimate stays.
func TestCorrectedWindows(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	call := func(session, id string, estimate, bill *int64) {
		c.in(session, session, "t1", "run-root")
		fact := &schema.UsageRecorded{CallID: id, Model: "m", TotalTokens: estimate}
		if bill != nil {
			fact.Usage = schema.ProviderUsage{UncachedInput: bill, CacheRead: num(0)}
		}
		c.add(fact)
	}
	for i, estimate := range []int64{400, 800, 1600, 400, 1200} { // smaller after a compaction
		call("s1", fmt.Sprint("a", i), num(estimate), num(1000+estimate*5/4))
	}
	call("s1", "a5", num(1600), num(6000)) // 3000 more than the others suggest
	call("s1", "a6", num(2000), num(3500))
	call("s1", "a7", num(2000), nil)
	call("s1", "a8", nil, num(3500))
	call("s2", "alone", num(100), num(200))
	l := c.write()
	want := [][]string{
		{"a0", "1500", "400", "1500", "a1"}, {"a1", "2000", "800", "2000", "a0"}, {"a2", "3000", "1600", "3000", "a1"},
		{"a3", "1500", "400", "1500", "a2"}, {"a4", "2500", "1200", "2500", "a3"}, {"a5", "6000", "1600", "3000", "a4"},
		{"a6", "3500", "2000", "6500", "a5"},
	}
	got := named(t, l, "corrected-windows", map[string]string{"session_id": "s1"}, "call_id", "billed_tokens", "estimated_tokens", "corrected_tokens", "neighbour_call_id")
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	got = named(t, l, "tokenizer-error", map[string]string{"session_id": "s1"}, "calls", "scale", "offset_tokens", "estimate_within_5", "corrected_calls", "corrected_error_90", "corrected_within_5")
	if want := [][]string{{"7", "1.25", "1000", "0", "7", fmt.Sprint(6.0 / 7), fmt.Sprint(5.0 / 7)}}; len(got) != 1 || got[0][5] == "NULL" || fmt.Sprint(got[0][:5], got[0][6]) != fmt.Sprint(want[0][:5], want[0][6]) {
		t.Errorf("got %v, want %v", got, want)
	} else if worst := 3000.0 / 3500; math.Abs(worst-6.0/7) > 1e-9 || got[0][5][:6] != fmt.Sprint(worst)[:6] {
		t.Errorf("the error of 90 of 100 calls is %s, want %v", got[0][5], worst)
	}
	got = named(t, l, "tokenizer-error", map[string]string{"session_id": "s2"}, "calls", "scale", "corrected_calls", "corrected_error_90", "corrected_within_5")
	if want := "[[1 1 0 NULL NULL]]"; fmt.Sprint(got) != want {
		t.Errorf("one call alone: %v, want %s", got, want)
	}
}

// TestCorrectedEstimatesOfManySessions: the bills of each session have a scale and an offset of their own, and
// differ by up to 1 % from both. Every fifth window is cut to a quarter. The corrected estimates of 90 % of the
// calls are within 5 % of the bill, and none of the stored ones is. Each says how far it is off.
func TestCorrectedEstimatesOfManySessions(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	random := rand.New(rand.NewPCG(1, 2))
	const sessions, calls = 20, 60
	stored := make(map[string]int64)
	for s := range sessions {
		session := fmt.Sprintf("s%02d", s)
		c.in(session, session, "t1", "run-root")
		scale, offset, estimate := 1.3+0.03*float64(s), float64(3000+1000*s), int64(5000)
		for i := range calls {
			if estimate += random.Int64N(8000); i%5 == 4 {
				estimate /= 4
			}
			id := fmt.Sprintf("%s-%02d", session, i)
			stored[id] = estimate
			bill := int64((offset + scale*float64(estimate)) * (0.99 + 0.02*random.Float64()))
			c.add(&schema.UsageRecorded{CallID: id, Model: "m", TotalTokens: num(estimate), Usage: schema.ProviderUsage{UncachedInput: &bill, CacheRead: num(0)}})
		}
	}
	l := c.write()
	rows := named(t, l, "tokenizer-error", nil, "session_id", "calls", "corrected_calls", "corrected_within_5", "estimate_within_5")
	if len(rows) != sessions {
		t.Fatalf("%d sessions have bills, want %d", len(rows), sessions)
	}
	for _, row := range rows {
		var within, before float64
		fmt.Sscan(row[3], &within)
		fmt.Sscan(row[4], &before)
		if row[1] != fmt.Sprint(calls) || row[2] != row[1] || within < 0.9 || before > 0 {
			t.Errorf("session %s: %s calls, %s corrected, %v of them and %v of the estimates within 5 %%", row[0], row[1], row[2], within, before)
		}
		for _, call := range named(t, l, "corrected-windows", map[string]string{"session_id": row[0]}, "call_id", "estimated_tokens", "billed_tokens", "corrected_tokens", "corrected_error") {
			var estimated int64
			var billed, corrected, off float64
			for i, into := range []any{&estimated, &billed, &corrected, &off} {
				if _, err := fmt.Sscan(call[i+1], into); err != nil {
					t.Fatal(call, err)
				}
			}
			if estimated != stored[call[0]] || math.Abs(billed*(1+off)-corrected) > 1 {
				t.Errorf("call %v: the stored estimate is %d", call, stored[call[0]])
			}
		}
	}
}
