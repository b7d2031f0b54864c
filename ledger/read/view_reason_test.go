package read_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestProvidersReasonForABreak: the provider's reason is next to the cause, and one query lists
// where both differ.
func TestProvidersReasonForABreak(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "run-9")
	for i, call := range []struct {
		model, system, reason string
		window                bool
	}{
		{"m", "one", "", false},
		{"m", "two", "system_changed", false},    // agrees
		{"n", "two", "tools_changed", false},     // the model changed
		{"n", "three", "moon_phase", false},      // a word of tomorrow
		{"n", "four", "system_changed", false},   // agrees again
		{"n", "four", "messages_changed", false}, // the ledger has no window
		{"n", "five", "", true},
		{"n", "five", "messages_changed", true}, // the window only grew
	} {
		if call.window {
			blocks := []schema.Block{{Block: "b0", Digest: "d0", Tokens: num(5), Position: num(0)}}
			if i == 7 {
				blocks = append(blocks, schema.Block{Block: "b1", Digest: "d1", Tokens: num(5), Position: num(1)})
			}
			c.add(&schema.AssemblyCreated{AssemblyID: fmt.Sprint("a", i), CallID: fmt.Sprint("c", i), Target: "model", OrderedBlocks: blocks})
		}
		input, read, written, gap := int64(10), int64(0), int64(100), float64(1)
		f := &schema.UsageRecorded{
			CallID: fmt.Sprint("c", i), Model: call.model, SystemDigest: call.system, GapSeconds: &gap,
			Usage: schema.ProviderUsage{UncachedInput: &input, CacheRead: &read, CacheWrite: &written},
		}
		if call.reason != "" {
			f.Metadata = map[string]any{"cache_miss_reason": call.reason}
		}
		c.add(f)
	}
	l := c.write()
	lines := func(query string, columns ...string) string {
		t.Helper()
		var text []string
		for _, row := range named(t, l, query, map[string]string{"session_id": "s9"}, columns...) {
			text = append(text, strings.Join(row, " "))
		}
		return strings.Join(text, "\n")
	}
	if got := lines("cache-miss-reasons", "agrees", "cause", "cache_miss_reason", "calls", "lost_tokens", "call_id"); got != strings.Join([]string{
		"false append messages_changed 1 100 c7", "false model_switch tools_changed 1 100 c2", "true system_change system_changed 2 200 c4",
		"NULL system_change moon_phase 1 100 c3", "NULL unexplained messages_changed 1 100 c5",
	}, "\n") {
		t.Errorf("the reasons are\n%s", got)
	}
	if got := lines("cache-breaks", "call_id", "cause", "cache_miss_reason"); !strings.Contains(got, "c2 model_switch tools_changed") || !strings.Contains(got, "c6 system_change ") {
		t.Errorf("the breaks are\n%s", got)
	}
}

// TestAppendOnlyGrows: a call whose window only grew has the cause append. A window that lost its end, and a
// call that lost cached tokens without a recorded cause, are unexplained.
func TestAppendOnlyGrows(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t1", "run-root")
	call := func(n int, read, written int64, blocks ...string) {
		id := fmt.Sprint("c", n)
		u := &schema.UsageRecorded{CallID: id, Model: "m1", LineageID: "l"}
		if blocks != nil {
			f := &schema.AssemblyCreated{AssemblyID: "a-" + id, CallID: id, Target: "model"}
			for _, b := range blocks {
				f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{Block: b, Digest: b, Tokens: num(100)})
			}
			c.add(f)
		}
		if written > 0 {
			u.Usage = schema.ProviderUsage{UncachedInput: num(0), CacheRead: &read, CacheWrite5m: &written}
		}
		c.add(u)
	}
	call(1, 0, 200, "a", "b")
	call(2, 200, 100, "a", "b", "c")          // grew
	call(3, 300, 50, "a", "b", "c")           // the same window
	call(4, 200, 50, "a", "b")                // its end is gone
	call(5, 0, 300, "a", "d", "b")            // b is computed again
	call(6, 300, 100)                         // grew by its bill
	call(7, 100, 500)                         // grew, and lost cached tokens
	call(8, 300, 10)                          // shrank
	call(9, 0, 0)                             // nothing is known
	call(10, 0, 100, "a", "b", "c", "d", "e") // the one before is not known
	call(11, 0, 600, "x", "b", "c", "d", "e") // another beginning
	var causes []string
	for _, row := range named(t, c.write(), "cache-calls", map[string]string{"session_id": "s9"}, "call_id", "cause") {
		causes = append(causes, row[0]+" "+row[1])
	}
	want := "c1 first, c2 append, c3 append, c4 unexplained, c5 rewrite, c6 append, c7 unexplained, c8 unexplained, c9 unexplained, c10 unexplained, c11 rewrite"
	if got := strings.Join(causes, ", "); got != want {
		t.Errorf("the causes are %s\nwant %s", got, want)
	}
}
