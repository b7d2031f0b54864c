package read_test

import (
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestUnreferencedResults: each kind of reference takes its result from the list, and nothing else does. The
// calls of a listed result end at the next compaction.
func TestUnreferencedResults(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "th", "t1", "run-root")
	item := func(id, tool, layer, title string, tokens int64, sources ...schema.SourceRef) {
		c.ids.ToolCallID = tool
		c.add(&schema.ItemAdded{Item: schema.Item{ItemID: id, Layer: layer, Title: title, TokenEstimate: num(tokens), SourceRefs: sources}})
		c.ids.ToolCallID = ""
	}
	tool := func(name, title string, tokens int64) {
		item(name, name, "tool_calls", title, 5)
		item(name+":result", name, "tool_results", title, tokens)
	}
	call := func(id string) {
		c.add(&schema.UsageRecorded{CallID: id, Model: "m", Usage: schema.ProviderUsage{UncachedInput: num(700), Output: num(1)}})
	}
	read := func() {
		tool("edited", "Read src/edited.go", 10)
		tool("tested", "Read src/tested.go", 11)
		tool("asked", "Read asked.md", 12)
		tool("folder", "Bash ls -l ./lib/", 13)
		tool("listed", "Bash ls lib/sub", 14)
		tool("copied", "Read copied.go", 15)
		tool("sourced", "Read sourced.go", 16)
		tool("fetched", "Read fetched.go", 17)
		tool("missed", "Read missed.go", 18)
		tool("both", "Bash cat both.go kept.md", 19)
		tool("never", "Read src/never.go", 90)
		tool("other", "Read src/other.go", 80)
		tool("outside", "Read outside.go", 70)
		tool("run", "Bash go test ./...", 60)
		tool("web", "WebFetch https://example.com/a.html", 50)
		tool("words", "Bash git log v1.2..v1.3 -- 1.5 *.go", 40)
	}
	read()
	call("call-1")
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "c1", Scope: "thread", SourceItemRefs: refs("never:result"), SummaryRef: "sum-1"}})
	call("call-2")
	tool("edit", "Edit /srv/shop/src/edited.go", 20)
	tool("test", `Bash go test "tested.go" src/another.go`, 0)
	item("prompt", "", "user", "look at asked.md and kept.md, not at othe.go", 3)
	tool("sub", "Read lib/sub/x.go", 1)
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "shown", Layer: "retrieval", Reads: "copied.go", TokenEstimate: num(2)}})
	item("summary", "", "summary", "Notes", 4, schema.SourceRef{SourceID: "sourced:result"})
	c.add(&schema.ElisionReloaded{Elision: schema.Elision{PassID: "p1", Policy: "old_reads", Level: schema.ElideSimple, ElidedItemRefs: []schema.Elided{{ItemRef: "fetched:result"}}}})
	c.add(&schema.MissingResolved{Missing: schema.Missing{MissingID: "m1", Question: "q", RequestedFrom: "u", RequestedAction: "a", UserSummary: "s", Status: "resolved", ResolutionRefs: refs("missed:result")}})
	c.in("s1", "th2", "t1", "run-2")
	tool("child", "Read outside.go", 30)
	c.in("s2", "th", "t1", "run-3")
	tool("second", "Read src/never.go", 30)
	c.in("s3", "th", "t1", "run-4") // without any reference
	read()
	l := c.write()

	columns := "item_id thread_id files tokens calls token_calls"
	want := []string{
		"never:result th [src/never.go] 90 1 90", "other:result th [src/other.go] 80 1 80", "outside:result th [outside.go] 70 1 70",
		"child:result th2 [outside.go] 30 0 0", "sub:result th [lib/sub/x.go] 1 0 0", "test:result th [tested.go src/another.go] 0 0 0",
	}
	if got := joined(t, l, "unreferenced-results", map[string]string{"tenant": "acme", "session_id": "s1"}, columns); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := joined(t, l, "unreferenced-results", map[string]string{"session_id": "s1", "limit": "1"}, "item_id"); !slices.Equal(got, []string{"never:result"}) {
		t.Errorf("the largest is %q", got)
	}
	all := []string{
		"never", "other", "outside", "both", "missed", "fetched", "sourced", "copied", "listed", "asked", "tested", "edited",
	}
	for i := range all {
		all[i] += ":result"
	}
	if got := joined(t, l, "unreferenced-results", map[string]string{"session_id": "s3"}, "item_id"); !slices.Equal(got, all) {
		t.Errorf("without references: %q\nwant %q", got, all)
	}
	if got := joined(t, l, "unreferenced-results", nil, "session_id"); len(got) != len(want)+1+len(all) {
		t.Errorf("of all sessions: %q", got)
	}
}
