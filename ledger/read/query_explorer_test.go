package read_test

import (
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestQueriesOfTheExplorer checks what the pages draw: sizes of windows from first to last, the size
// from which the runtime shortens a window, how a call is known, and what was read again after a
// compaction.
func TestQueriesOfTheExplorer(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "th", "t1", "run")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-1", Reads: "main.go", TokenEstimate: num(900)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-2", Reads: "once.go", TokenEstimate: num(50)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-3", Title: "Read src/util.go", Layer: "tool_results", TokenEstimate: num(70)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "write-1", Title: "Write src/out.go", Layer: "tool_results", TokenEstimate: num(10)}})
	c.add(&schema.BudgetApplied{BudgetID: "b1", CallID: "call-1", Model: "m", Target: "model", MaxTokens: num(1000), ReservedTokens: num(200), PressurePolicy: &schema.PressureRules{HighWater: num(90)}})
	c.add(&schema.UsageRecorded{CallID: "call-1", Model: "m", Usage: schema.ProviderUsage{UncachedInput: num(700), Output: num(1)}})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "c1", Scope: "thread", SourceItemRefs: refs("read-1"), SummaryRef: "sum-1"}})
	c.add(&schema.UsageRecorded{CallID: "call-2", Model: "m", Usage: schema.ProviderUsage{UncachedInput: num(300), Output: num(1)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-4", Reads: "main.go", TokenEstimate: num(901)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-5", Title: "Read src/util.go", Layer: "tool_results", TokenEstimate: num(71)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-6", Reads: "main.go", TokenEstimate: num(902)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "write-2", Title: "Write src/out.go", Layer: "tool_results", TokenEstimate: num(11)}})
	c.in("s2", "th2", "t1", "run2")
	for range 100 {
		c.add(&schema.UsageRecorded{CallID: "call-x", Model: "m", TotalTokens: num(5)})
	}
	c.in("s3", "th3", "t1", "run3")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "other"}})
	for session, last := range map[string]int64{"partly": 4, "yes": 5} {
		c.in(session, session, "t1", "run4")
		c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "first"}})
		c.sequence[[2]string{c.source, session}] += 2 // that were lost
		c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "fourth"}})
		c.ids.ContextID = "context-" + session
		c.add(&schema.EnvelopeCreated{ContextID: c.ids.ContextID, Scope: "session", Lifecycle: schema.LifecycleArchived,
			Sequences: []schema.SequenceRanges{{Source: c.source, Ranges: [][2]int64{{1, last}}}}})
	}
	c.ids = schema.Correlation{Tenant: "acme"}
	c.add(&schema.ErasureApplied{Common: schema.Common{PolicyRefs: refs("policy-b", "policy-a")}, ErasureID: "erasure-1", ErasedSubject: "user-1", Reason: "request", Records: []schema.ErasedRecord{
		{Stream: "CTX", Sequence: 70, Leaf: "bb", SessionID: "s2"}, {Stream: "CTX", Sequence: 60, Leaf: "aa", SessionID: "s3"}, {Stream: "CTX", Sequence: 61, Leaf: "cc", SessionID: "s3"}}})
	l := c.write()

	for _, test := range []struct {
		query     string
		arguments map[string]string
		columns   string
		want      []string
	}{
		{"compacted-then-read", nil, "compaction_id reads before_item_id again_item_id again_tokens calls_between", []string{
			"c1 main.go read-1 read-4 901 1", "c1 src/util.go read-3 read-5 71 1"}},
		{"session-peaks", map[string]string{"sessions": `["s1","s3"]`}, "session_id calls billed peak_tokens limit_tokens peaks", []string{"s1 2 true 700 1000 [700 300]"}},
		{"river", map[string]string{"session_id": "s1"}, "call_id threshold_tokens fidelity coverage cache_miss_reason", []string{"call-1 720 stated  ", "call-2 720 stated  "}},
		{"item-sessions", map[string]string{"item_id": "read-3"}, "tenant session_id versions title", []string{"acme s1 1 Read src/util.go"}},
		{"completeness", map[string]string{"session_id": "s1"}, "facts first_sequence last_sequence missing sealed", []string{"12 1 12 0 no"}},
		{"completeness", map[string]string{"session_id": "partly"}, "facts first_sequence last_sequence missing sealed sealed_last", []string{"3 1 5 2 partly 4"}},
		{"completeness", map[string]string{"session_id": "yes"}, "facts first_sequence last_sequence missing sealed sealed_last", []string{"3 1 5 2 yes 5"}},
		{"erasures", nil, "tenant erasure_id reason policy_refs records sessions first_leaf", []string{"acme erasure-1 request [policy-a policy-b] 3 2 aa"}},
		{"erasures", map[string]string{"session_id": "s2"}, "erasure_id records sessions first_leaf", []string{"erasure-1 1 1 bb"}},
		{"river", map[string]string{"session_id": "s2", "limit": "1"}, "call_id threshold_tokens", []string{"call-x NULL"}},
	} {
		if got := joined(t, l, test.query, test.arguments, test.columns); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.query, got, test.want)
		}
	}
	peaks := joined(t, l, "session-peaks", map[string]string{"sessions": `["s2"]`}, "billed peak_tokens limit_tokens peaks")
	if len(peaks) != 1 || peaks[0][:len("false 5 NULL [5 ")] != "false 5 NULL [5 " || len(peaks[0]) != len("false 5 NULL [")+40*2 {
		t.Errorf("the session with estimates has %q, want 40 parts", peaks)
	}
}
