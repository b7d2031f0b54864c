package river

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

var began = time.Date(2026, 1, 21, 7, 20, 0, 0, time.UTC)

// session makes the answers about a session of calls with a bill and two layers. A negative bill
// is unknown.
func session(bills, layers []int64) Answers {
	a := Answers{Session: answer.Row{"session_id": "s", "agents": []string{"a"}, "turns": uint64(1)}}
	for i, bill := range bills {
		id, at := fmt.Sprint("call-", i), began.Add(time.Duration(i)*time.Minute)
		call := answer.Row{"thread_id": "t", "turn_id": "u", "call_id": id, "event_time": at, "cause": "append"}
		if bill >= 0 {
			call["window_tokens"], call["cache_read"] = bill, bill/2
		}
		a.Calls = append(a.Calls, call)
		for j, layer := range []string{"system", "tool_results"} {
			a.Layers = append(a.Layers, answer.Row{"turn_id": "u", "call_id": id, "event_time": at, "layer": layer, "tokens": layers[i] * int64(j+1)})
		}
	}
	return a
}

// TestBandsFillTheBill: the bands of a column add up to the bill, and no band is negative.
func TestBandsFillTheBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "calls")
		size := rapid.Int64Range(-1, 400_000)
		bills, layers := make([]int64, n), make([]int64, n)
		for i := range n {
			bills[i], layers[i] = size.Draw(t, "bill"), max(0, size.Draw(t, "layer"))
		}
		r := Of(session(bills, layers))
		if r.Calls+r.Windowless != n {
			t.Fatalf("%d calls are drawn and %d are not, of %d", r.Calls, r.Windowless, n)
		}
		for _, c := range r.All() {
			var drawn float64
			for _, b := range c.Bands {
				if b.Tokens <= 0 || b.Drawn < 0 {
					t.Fatalf("call %d has the band %+v", c.Number, b)
				}
				drawn += b.Drawn
			}
			if math.Abs(drawn-float64(c.Top())) > 0.5 {
				t.Fatalf("the bands of call %d add up to %.1f, the column is %d", c.Number, drawn, c.Top())
			}
			if u := c.Unexplained(); c.Billed == nil != (u == nil) || u != nil && *u != max(0, *c.Billed-c.Layered()) {
				t.Fatalf("call %d: unexplained is wrong", c.Number)
			}
		}
	})
}

// TestUnknownIsNotZero: a call without bill and layers is not drawn, and a layer of unknown size
// changes the name of the rest.
func TestUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	a := session([]int64{-1, 1000}, []int64{0, 100})
	a.Layers = append(a.Layers, answer.Row{"turn_id": "u", "call_id": "call-1", "event_time": began.Add(time.Minute), "layer": "reasoning", "tokens": nil})
	r := Of(a)
	if r.Calls != 1 || r.Windowless != 1 {
		t.Errorf("%d calls are drawn, %d are not", r.Calls, r.Windowless)
	}
	if last := r.Keys[len(r.Keys)-1]; last.Name != "Tool definitions, not in the log, and blocks of unknown size" {
		t.Errorf("the rest is called %q", last.Name)
	}
	if c := r.All()[0]; *c.Unexplained() != 700 || c.Written != nil || *c.Neither != 500 {
		t.Errorf("the call is %+v", c)
	}
}

// TestManyCallsShareColumns: 2,000 calls have a bounded number of columns, and the largest call
// has the column of its neighbours.
func TestManyCallsShareColumns(t *testing.T) {
	t.Parallel()
	bills, layers := make([]int64, 2000), make([]int64, 2000)
	for i := range bills {
		bills[i], layers[i] = 1000, 10
	}
	bills[1234] = 90_000
	ch := Of(session(bills, layers)).Threads[0].Draw(MainHeight, 0)
	if len(ch.Columns) > mostColumns {
		t.Errorf("there are %d columns", len(ch.Columns))
	}
	found := false
	for _, c := range ch.Columns {
		found = found || c.Call.Number == 1235 && *c.Call.Billed == 90_000
	}
	if !found {
		t.Error("the largest call has no column")
	}
}

// TestLabelsDoNotOverlap: labels of compactions end before the next compaction, and labels of
// losses before the next label.
func TestLabelsDoNotOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 120).Draw(t, "calls")
		bills, layers := make([]int64, n), make([]int64, n)
		for i := range n {
			bills[i] = rapid.Int64Range(10_000, 200_000).Draw(t, "bill")
		}
		a := session(bills, layers)
		for i := range n {
			if rapid.Bool().Draw(t, "cut") {
				a.Boundaries = append(a.Boundaries, answer.Row{"thread_id": "t", "kind": "compact_boundary", "timestamp": began.Add(time.Duration(i) * time.Minute), "pre_tokens": bills[i]})
				a.Calls[i]["cause"], a.Calls[i]["lost_tokens"] = "compaction", bills[i]/2
			}
		}
		thread := Of(a).Threads[0]
		ch := thread.Draw(MainHeight, 0)
		for i, m := range ch.Cuts {
			if m.Text == "" {
				continue
			}
			if end := m.X + 5 + textWidth(m.Text); !m.FromRight && i+1 < len(ch.Cuts) && end > ch.Cuts[i+1].X+3 {
				t.Fatalf("the label %q ends at %.0f, the next cut is at %.0f", m.Text, end, ch.Cuts[i+1].X)
			}
		}
		bill, ok := thread.DrawBill(0)
		if !ok {
			t.Fatal("there is a bill, but no drawing")
		}
		last := -1000.0
		for _, l := range bill.Losses {
			if l.Text == "" {
				continue
			}
			if half := textWidth(l.Text) / 2; l.LabelX-half < last {
				t.Fatalf("the label of call %d begins at %.0f, the one before ends at %.0f", l.Call.Number, l.LabelX-half, last)
			} else {
				last = l.LabelX + half
			}
		}
		if len(ch.Times) == 0 {
			t.Fatal("the axis has no label")
		}
	})
}

// TestStripIsAsWideAsTheBill: blocks and rest fill the strip, and only tools' own windows and
// blocks of unknown size have no place in it.
func TestStripIsAsWideAsTheBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := windowview.Window{Billed: new(rapid.Int64Range(1, 1_000_000).Draw(t, "billed"))}
		for range rapid.IntRange(0, 30).Draw(t, "blocks") {
			b := windowview.Block{Layer: rapid.SampledFrom([]string{"user", "tool_results", "nosuch", ""}).Draw(t, "layer")}
			if rapid.Bool().Draw(t, "known") {
				b.Tokens = new(rapid.Int64Range(0, 100_000).Draw(t, "tokens"))
			}
			if rapid.IntRange(0, 9).Draw(t, "tool") == 0 {
				b.Target = "tool"
			}
			w.Blocks = append(w.Blocks, b)
		}
		s := DrawStrip(w)
		width := s.Rest
		for _, b := range s.Blocks {
			width += b.Width
		}
		if math.Abs(width-Width) > 0.01 {
			t.Fatalf("the strip is %.2f wide", width)
		}
	})
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit int64
		want  string
	}{{208_000, "[0 50000 100000 150000 200000]"}, {0, "[0]"}, {3, "[0 1 2 3]"}, {1_040_000, "[0 500000 1000000]"}} {
		if got := fmt.Sprint(ticks(test.limit, 5)); got != test.want {
			t.Errorf("%d: %s, want %s", test.limit, got, test.want)
		}
	}
	for n, want := range map[int64]string{950: "950", 1000: "1k", 9_040: "9k", 8_950: "8.9k", 153_697: "154k", 999_900: "1M", 1_250_000: "1.2M"} {
		if got := Short(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
