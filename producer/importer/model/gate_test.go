package model

import (
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/google/uuid"
)

// TestGate: no fact has an attribute that cannot travel, regardless of the parser.
func TestGate(t *testing.T) {
	for name, spoil := range map[string]func(o *Origin, p *Piece){
		"nothing":        func(*Origin, *Piece) {},
		"turn":           func(o *Origin, _ *Piece) { o.Thread.Turn = "a\x00b" },
		"task":           func(o *Origin, _ *Piece) { o.Thread.Task = "\u0085" },
		"parent run":     func(o *Origin, _ *Piece) { o.Thread.ParentRun = "\"" },
		"root run":       func(o *Origin, _ *Piece) { o.Thread.RootRun = "\xff" },
		"record":         func(o *Origin, _ *Piece) { o.Record = "a\x00b" },
		"part of a name": func(_ *Origin, p *Piece) { p.Name = []string{"a\x00b"} },
		"tool call":      func(_ *Origin, p *Piece) { p.ToolCall = "{" },
		"item":           func(_ *Origin, p *Piece) { p.ID = "a\nb" },
	} {
		events := 0
		w := NewWriter(NewTool(FormatCodex), "f", Options{}, func(*schema.Event) error { events++; return nil })
		thread, _ := w.Thread(ThreadKey{"s", "s"})
		o := &Origin{Thread: thread, Record: "r", At: time.Unix(0, 0).UTC(), Line: 7}
		p := TextPiece("x", "user_message", LayerUser, "user", "")
		p.ID, p.Name = "i", []string{"0"}
		spoil(o, &p)
		if _, err := w.Piece(o, &p, ""); err != nil {
			t.Fatal(err)
		}
		want := 0
		if name == "nothing" {
			want = 2
		}
		if events != want || len(w.Report.Problems) != 2-want {
			t.Errorf("%s: %d events, problems %v", name, events, w.Report.Problems)
		}
	}
}

// TestLargeTotals: the tokens of a call are exact at any size. Of the versions of a call, the one
// with the most output counts.
func TestLargeTotals(t *testing.T) {
	count := func(n int64) schema.ProviderUsage { return schema.ProviderUsage{UncachedInput: &n, Output: &n} }
	var all Report
	for _, n := range []int64{7, 1 << 40, 3, 1<<40 + 1, 9} {
		var r Report
		r.Call("s", "c", count(n))
		r.Call("s", "other", count(5))
		all.Merge(r)
	}
	if want := (TokenTotals{UncachedInput: 1<<40 + 6, Output: 1<<40 + 6}); all.Tokens != want || all.Calls != 2 {
		t.Errorf("%d calls, %+v", all.Calls, all.Tokens)
	}
}

// TestNameBased compares the ids with those of the library.
func TestNameBased(t *testing.T) {
	namespace := NewTool(FormatCodex).namespace
	for _, name := range []string{"", "a", "a\x00b"} {
		if got, want := nameBased(append(namespace[:], name...)), uuid.NewSHA1(namespace, []byte(name)); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
