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
		"NULL append messages_changed 1 100 c5", "NULL system_change moon_phase 1 100 c3",
	}, "\n") {
		t.Errorf("the reasons are\n%s", got)
	}
	if got := lines("cache-breaks", "call_id", "cause", "cache_miss_reason"); !strings.Contains(got, "c2 model_switch tools_changed") || !strings.Contains(got, "c6 system_change ") {
		t.Errorf("the breaks are\n%s", got)
	}
}
