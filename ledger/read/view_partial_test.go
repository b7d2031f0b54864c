package read_test

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPlaceholdersAreNotPriced: the output of a Claude Code record without a stop reason is a
// placeholder, so that its sums are lower bounds. Other producers may leave the stop reason out.
func TestPlaceholdersAreNotPriced(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	call := func(session, source, id, stop, model string) {
		c.source = source
		c.in(session, session, "t1", "run-root")
		c.add(&schema.UsageRecorded{CallID: id, Model: model, StopReason: stop, Usage: schema.ProviderUsage{
			UncachedInput: num(1_000_000), CacheRead: num(0), CacheWrite5m: num(0), Output: num(1_000_000),
		}})
	}
	const log = "urn:ctxledger:import:claude-code:s1;r2;bare;00000000"
	call("s1", log, "a", "", "claude-opus-4-5")
	call("s1", log, "b", "end_turn", "claude-opus-4-5")
	call("s1", log, "c", "", "no-such-model")
	call("s2", "urn:test:agent", "d", "", "claude-opus-4-5")
	l := c.write()
	const columns = "round(priced_cost, 6), round(at_least_cost, 6), cost_lacks"
	for view, query := range map[string]string{
		"call_costs": "SELECT call_id, partial_buckets, unpriced_buckets, " + columns + " FROM call_costs ORDER BY call_id",
		"cache_bill": "SELECT call_id, if(cost_lacks = 'count' OR call_id = 'c', ['output'], []), unpriced_buckets, " + columns + " FROM cache_bill ORDER BY call_id",
	} {
		want := "[[a [output] [] NULL 5 count] [b [] [] 30 30 ] [c [output] [input] NULL NULL price] [d [] [] 30 30 ]]"
		if got := fmt.Sprint(rows(t, l, query, nil)); got != want {
			t.Errorf("%s: %s, want %s", view, got, want)
		}
	}
	got := fmt.Sprint(rows(t, l, "SELECT session_id, priced_cost, at_least_cost, unpriced_calls, partial_calls, cost_complete FROM session_summary ORDER BY session_id", nil))
	if want := "[[s1 30 35 1 1 false] [s2 30 30 0 0 true]]"; got != want {
		t.Errorf("session_summary: %s, want %s", got, want)
	}
	got = fmt.Sprint(rows(t, l, "SELECT session_id, total_priced_cost, total_at_least_cost, unpriced_calls, partial_calls FROM run_tree ORDER BY session_id", nil))
	if want := "[[s1 30 35 1 1] [s2 30 30 0 0]]"; got != want {
		t.Errorf("run_tree: %s, want %s", got, want)
	}
	b, err := read.Of(l).Bill(t.Context(), "acme", []string{"s1"})
	if err != nil || b.Calls != 3 || b.Unpriced != 1 || b.Partial != 1 || b.Cost != 35 {
		t.Errorf("%+v, %v", b, err)
	}
}
