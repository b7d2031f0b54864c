package windowview_test

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

func example() windowview.Window {
	return windowview.Window{
		Title: "turn t", Max: new(int64(10_000)), Reserved: new(int64(1_000)), Billed: new(int64(5_100)),
		Blocks: []windowview.Block{
			{Position: 0, Layer: "system", Role: "system", Title: "system prompt", Tokens: new(int64(5))},
			{Position: 1, Layer: "tools", Role: "tool", Title: "a result\nover two lines", Tokens: new(int64(4_000)), Full: new(int64(4_000))},
			{Position: 2, Layer: "tools", Role: "tool", Title: strings.Repeat("long ", 20), Tokens: new(int64(14)), Full: new(int64(1_364)), Elided: true},
			{Position: 3, Layer: "media", Role: "user", Item: "item-4", Redaction: "partial"},
		},
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := example().Draw(&b); err != nil {
		t.Fatal(err)
	}
	const want = `turn t

  │█▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                                ······│
    ██  system                       5 tokens   0.1%   1 item
    ▓▓   tools                   4,014 tokens  40.1%  2 items
    ▒▒   media  0 + 1 of unknown size, tokens   0.0%   1 item
  at least 4,019 tokens estimated, 1 block of unknown size in a window of 10,000, 1,000 (·) kept for the answer; the provider billed 5,100

  #  LAYER   ROLE    TOKENS  WHAT                                          NOTE
  0  system  system  5       system prompt                                 
  1  tools   tool    4,000   a result over two lines                       
  2  tools   tool    14      long long long long long long long long lon…  elided, was 1,364
  3  media   user    ?       item-4                                        partial
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDrawKeepsWithinTheTerminal: whatever the numbers, the bar has its width.
func TestDrawKeepsWithinTheTerminal(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*windowview.Window){
		func(w *windowview.Window) { w.Max = nil },
		func(w *windowview.Window) { w.Max = new(int64(1)) },
		func(w *windowview.Window) { w.Max, w.Reserved = new(int64(0)), new(int64(0)) },
		func(w *windowview.Window) { w.Reserved = new(int64(9_999)) },
		func(w *windowview.Window) { w.Blocks = nil },
		func(w *windowview.Window) {
			for i := range 40 {
				w.Blocks = append(w.Blocks, windowview.Block{Layer: strings.Repeat("x", i+1), Tokens: new(int64(1))})
			}
		},
	} {
		w := example()
		change(&w)
		var b strings.Builder
		if err := w.Draw(&b); err != nil {
			t.Fatal(err)
		}
		bar := strings.TrimSpace(strings.Split(b.String(), "\n")[2])
		if n := len([]rune(bar)); n != 66 {
			t.Errorf("the bar has %d cells with its ends, want 66: %s", n, bar)
		}
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	w := example()
	w.Colour = true
	var b strings.Builder
	if err := w.Draw(&b); err != nil || !strings.Contains(b.String(), "\x1b[33m") {
		t.Errorf("no colour: %v", err)
	}
}
