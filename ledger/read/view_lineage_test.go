package read_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

func TestLineageByTheSummariesNamed(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	compact := func(id, last schema.Ref, sources ...string) {
		c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: string(id), Scope: "thread", SummaryRef: "summary-" + id,
			SourceItemRefs: refs(sources...), SourceWindow: &schema.SourceWindow{LastItemRef: last}}})
	}
	c.in("s1", "t1", "turn-1", "run-root")
	compact("a", "", "item-1")
	c.in("s1", "t2", "turn-1", "run-root")
	compact("b", "", "item-1", "summary-a")
	compact("c", "summary-b", "item-2")
	c.in("s1", "t3", "turn-1", "run-root")
	compact("d", "", "summary-a", "summary-c")
	c.in("s1", "t4", "turn-1", "run-root")
	compact("e", "", "summary-e", "summary-f") // its own summary and a later one
	compact("f", "", "item-3")
	c.in("s2", "t1", "turn-1", "run-root")
	compact("g", "", "summary-a") // of another session
	l := c.write()
	var got []string
	for _, session := range []string{"s1", "s2"} {
		for _, row := range named(t, l, "compaction-lineage", map[string]string{"session_id": session}, "compaction_id", "generation", "ancestor_id") {
			got = append(got, strings.Join(row, " "))
		}
	}
	want := []string{"a 0 a", "b 0 b", "b 1 a", "c 0 c", "c 1 b", "c 2 a", "d 0 d", "d 1 a", "d 1 c", "d 2 b", "d 3 a", "e 0 e", "f 0 f", "g 0 g"}
	if !slices.Equal(got, want) {
		t.Errorf("lineage:\n got %v\nwant %v", got, want)
	}
}
