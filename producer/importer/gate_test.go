package importer

import (
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/google/uuid"
)

// TestGate: whatever a parser lets through, no fact leaves with an attribute
// that cannot travel.
func TestGate(t *testing.T) {
	for name, spoil := range map[string]func(o *origin, p *piece){
		"nothing":        func(*origin, *piece) {},
		"turn":           func(o *origin, _ *piece) { o.thread.turn = "a\x00b" },
		"task":           func(o *origin, _ *piece) { o.thread.task = "\u0085" },
		"parent run":     func(o *origin, _ *piece) { o.thread.parentRun = "\"" },
		"root run":       func(o *origin, _ *piece) { o.thread.rootRun = "\xff" },
		"record":         func(o *origin, _ *piece) { o.record = "a\x00b" },
		"part of a name": func(_ *origin, p *piece) { p.name = []string{"a\x00b"} },
		"tool call":      func(_ *origin, p *piece) { p.toolCall = "{" },
		"item":           func(_ *origin, p *piece) { p.id = "a\nb" },
	} {
		events := 0
		w := newWriter(newTool(FormatCodex), "f", Options{}, func(*schema.Event) error { events++; return nil })
		thread, _ := w.thread(threadKey{"s", "s"})
		o := &origin{thread: thread, record: "r", at: time.Unix(0, 0).UTC(), line: 7}
		p := textPiece("x", "user_message", layerUser, "user", "")
		p.id, p.name = "i", []string{"0"}
		spoil(o, &p)
		if _, err := w.piece(o, &p, ""); err != nil {
			t.Fatal(err)
		}
		want := 0
		if name == "nothing" {
			want = 2
		}
		if events != want || len(w.report.Problems) != 2-want {
			t.Errorf("%s: %d events, problems %v", name, events, w.report.Problems)
		}
	}
}

// TestLargeTotals: a call is counted to the token whatever it used, and of its
// versions the one with the most output.
func TestLargeTotals(t *testing.T) {
	count := func(n int64) schema.ProviderUsage { return schema.ProviderUsage{UncachedInput: &n, Output: &n} }
	var all Report
	for _, n := range []int64{7, 1 << 40, 3, 1<<40 + 1, 9} {
		var r Report
		r.call("s", "c", count(n))
		r.call("s", "other", count(5))
		all.Merge(r)
	}
	if want := (TokenTotals{UncachedInput: 1<<40 + 6, Output: 1<<40 + 6}); all.Tokens != want || all.Calls != 2 {
		t.Errorf("%d calls, %+v", all.Calls, all.Tokens)
	}
}

// TestNameBased holds the ids to the library's.
func TestNameBased(t *testing.T) {
	namespace := newTool(FormatCodex).namespace
	for _, name := range []string{"", "a", "a\x00b"} {
		if got, want := nameBased(append(namespace[:], name...)), uuid.NewSHA1(namespace, []byte(name)); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
