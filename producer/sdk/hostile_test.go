package sdk

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestHostile records what no agent should: more than the queue holds, values that JSON cannot
// encode, halves of characters, a withheld value as an id, and facts in a forked process. A damaged
// batch lies in the outbox. Nothing is thrown, each loss is told, and the other facts are stored
// with sequences that have no hole.
func TestHostile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l language) {
		bus, server := start(t)
		out := l.run(t, "", "hostile", server.URL, filepath.Join(t.TempDir(), "outbox"))
		said := decode[struct {
			Flushed         bool
			Dropped, Forked int
			Codes, Left     []string
		}](t, out)
		if !said.Flushed || said.Dropped != 3 || said.Forked != 0 ||
			!reflect.DeepEqual(said.Codes, []string{"not_json", "not_json", "not_json", "withheld"}) ||
			!reflect.DeepEqual(said.Left, []string{"00000000000000-00000000-1.json.unreadable"}) {
			t.Errorf("%s", out)
		}
		var got []string
		for _, e := range bus.Events(t) {
			fact, found := schema.Validate(e)
			if len(found) > 0 {
				t.Errorf("%s: %v", e.Data, found)
			}
			more := ""
			switch f := fact.(type) {
			case *schema.FactsDropped:
				more = fmt.Sprint(" ", *f.Count, " ", f.Sequences[0].Ranges)
			case *schema.ItemAdded:
				more = " " + f.Title
			}
			got = append(got, fmt.Sprint(*e.Sequence, " ", e.EventType(), more))
		}
		want := []string{
			"1 context.scope.opened", "2 context.item.added ", "3 context.item.added ", "4 context.item.added ", "5 context.item.added ",
			"6 context.facts.dropped 3 [[6 8]]", "9 context.item.added \uFFFDx", "10 context.redaction.applied", "11 context.item.added [redacted:policy:p]",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the stream has %q", got)
		}
	})
}
