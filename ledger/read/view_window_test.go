package read_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestWindowOfASplitAssembly: an assembly in two events is one window. A block shows the redaction
// state of its item.
func TestWindowOfASplitAssembly(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "run-9")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "plain"}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "masked", RedactionState: schema.RedactionMasked}})
	part := func(n float64, position int64, item string) {
		c.add(&schema.AssemblyCreated{
			Common:     schema.Common{Metadata: map[string]any{"part": n, "parts": 2}},
			AssemblyID: "split", CallID: "call-9", Target: "model",
			OrderedBlocks: []schema.Block{{Block: item, ItemRefs: refs(item), Position: &position, Tokens: num(7)}},
		})
	}
	c.add(&schema.AssemblyCreated{AssemblyID: "earlier", CallID: "call-9", Target: "model", OrderedBlocks: []schema.Block{{Block: "old", Position: num(0)}}})
	part(1, 0, "plain")
	part(2, 1, "masked")
	part(2, 1, "masked") // recorded again
	l := c.write()
	var got []string
	for _, row := range named(t, l, "window", map[string]string{"session_id": "s9", "turn_id": "t9"}, "assembly_id", "position", "item_refs", "redaction_state") {
		got = append(got, strings.Join(row, " "))
	}
	want := []string{"split 0 [plain] ", "split 1 [masked] masked"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
