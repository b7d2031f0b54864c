package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestContentAndReplacements checks columns and queries for parts, markers, layers, notes, reasons,
// reads, summarisers' calls and goals. Values without a record stay unknown.
func TestContentAndReplacements(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "th", "t1", "run")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "u1", Parts: []schema.Part{
		{PartKind: "text", Digest: "hmac-sha256:k:01", Tokens: num(5)},
		{PartKind: "image", MimeType: "image/png", Ref: "file:shot.png", ByteSize: num(2048), Tokens: num(258), Detail: "low"},
		{PartKind: "file", Name: "a.pdf", Ref: `{"id":"file-1"}`},
	}}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-1", Reads: "main.go", TokenEstimate: num(900)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-2", Reads: "util.go", TokenEstimate: num(300)}})
	c.add(&schema.LogAppended{LogItemID: "r1", ItemType: "reasoning", Markers: []string{"reasoning_summary", "encrypted_content"}})
	c.add(&schema.LogAppended{LogItemID: "a1", ItemType: "message"})
	c.add(&schema.UsageRecorded{CallID: "call-1", Model: "m1", Layers: []schema.LayerUsage{
		{Layer: "memory", Tokens: num(90), Reported: num(80), ReportedBy: "noetic"}, {Layer: "user", Tokens: num(5)}}})
	c.add(&schema.UsageRecorded{CallID: "call-2", Model: "m1", Layers: []schema.LayerUsage{{Layer: "user", Tokens: num(6)}}})
	c.add(&schema.ElisionApplied{Elision: schema.Elision{PassID: "p1", Policy: "old_reads", Level: schema.ElideHybrid, ElidedItemRefs: []schema.Elided{
		{ItemRef: "read-1", Level: schema.ElideSummarized, TokensBefore: num(900), TokensAfter: num(20),
			Note: "read it to confirm the import", StubDigest: "hmac-sha256:k:02", Reason: "long and 3 turns old"},
		{ItemRef: "read-2", TokensBefore: num(300), TokensAfter: num(10)},
		{ItemRef: "never-again", TokensBefore: num(30), TokensAfter: num(10)},
	}}})
	c.in("s1", "th", "t2", "run")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-3", Reads: "main.go", TokenEstimate: num(950)}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "read-4", Reads: "main.go", TokenEstimate: num(951)}})
	c.add(&schema.ElisionReloaded{Elision: schema.Elision{PassID: "r1", ElidedItemRefs: []schema.Elided{{ItemRef: "read-2", TokensBefore: num(10), TokensAfter: num(300)}}}})
	c.add(&schema.UsageRecorded{CallID: "writer-1", Model: "small", Cost: new(0.25), Currency: "USD",
		Usage: schema.ProviderUsage{UncachedInput: num(1200), Output: num(100)}})
	c.add(&schema.SummaryRefreshed{Summary: schema.Summary{SummaryID: "log", SourceItemRefs: refs("u1"), EphemeralContextID: "sub-1", SummarizerCallID: "writer-1"}})
	c.add(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "sum-1", SourceItemRefs: refs("u1"), GoalRefs: refs("goal-1")}})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "c1", Scope: "thread", SourceItemRefs: refs("u1"), SummaryRef: "sum-1",
		TokensBefore: num(1000), TokensAfter: num(400), SummarizerCallID: "writer-2", GoalRefs: refs("goal-1", "goal-2", "goal-3"),
		Reinjected: []schema.Reinjected{{Kind: "todo", Ref: "goal-3"}}}})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "c2", Scope: "thread", SourceItemRefs: refs("u1"), SummaryRef: "sum-2"}})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "c3", Scope: "thread", SourceItemRefs: refs("u1"), SummaryRef: "sum-3", GoalRefs: refs("goal-1")}})
	c.add(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "sum-3", SourceItemRefs: refs("u1"), GoalRefs: refs("goal-1")}})
	l := c.write()

	for _, test := range []struct{ sql, want string }{
		{"SELECT part, part_kind, name, mime_type, ref, detail, byte_size, content_digest, tokens FROM item_parts ORDER BY part",
			"[[1 text     NULL hmac-sha256:k:01 5] [2 image  image/png file:shot.png low 2048  258] [3 file a.pdf  file-1  NULL  NULL]]"},
		{"SELECT item_id, reads, parts != '' FROM item_versions WHERE turn_id = 't1' ORDER BY stream_seq", "[[u1  1] [read-1 main.go 0] [read-2 util.go 0]]"},
		{"SELECT log_item_id, markers FROM log_entries ORDER BY log_item_id", "[[a1 []] [r1 [reasoning_summary encrypted_content]]]"},
		{"SELECT call_id, layer, tokens, reported_tokens, reported_by FROM layer_usage ORDER BY call_id, layer_order",
			"[[call-1 memory 90 80 noetic] [call-1 user 5 NULL ] [call-2 user 6 NULL ]]"},
		{"SELECT elided_notes, elided_stub_digests, elided_reasons FROM elisions ORDER BY stream_seq",
			"[[[read it to confirm the import  ] [hmac-sha256:k:02  ] [long and 3 turns old  ]] [[] [] []]]"},
		{"SELECT summary_id, summarizer_call_id, goal_refs FROM summaries ORDER BY stream_seq", "[[log writer-1 []] [sum-1  [goal-1]] [sum-3  [goal-1]]]"},
		{"SELECT compaction_id, goal_refs FROM compactions ORDER BY compaction_id", "[[c1 [goal-1 goal-2 goal-3]] [c2 []] [c3 [goal-1]]]"},
	} {
		if got := fmt.Sprint(rows(t, l, test.sql, nil)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.sql, got, test.want)
		}
	}
	for _, test := range []struct {
		query   string
		columns string
		want    []string
	}{
		{"item-parts", "part part_kind ref tokens", []string{"1 text  5", "2 image file:shot.png 258", "3 file file-1 NULL"}},
		{"elided-then-read", "item_id reads reason saved_tokens again again_item_id again_turn_id again_tokens", []string{
			"read-1 main.go long and 3 turns old 880 read read-3 t2 950", "read-2 util.go  290 reloaded read-2 t2 300"}},
		{"summary-costs", "compaction_id outcome summary_id ephemeral_context_id summarizer_call_id model window_tokens output cost tokens_saved", []string{
			" refreshed log sub-1 writer-1 small 1200 100 0.25 NULL", "c1 completed sum-1  writer-2  NULL NULL NULL 600"}},
		{"goals-kept", "compaction_id goals kept lost all_kept", []string{
			"c1 [goal-1 goal-2 goal-3] [goal-1 goal-3] [goal-2] false", "c2 [] [] [] NULL", "c3 [goal-1] [goal-1] [] true"}},
	} {
		var got []string
		for _, row := range named(t, l, test.query, nil, strings.Fields(test.columns)...) {
			got = append(got, strings.Join(row, " "))
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.query, got, test.want)
		}
	}
}
