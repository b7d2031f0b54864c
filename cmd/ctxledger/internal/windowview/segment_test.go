package windowview_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// TestSegmentsAddUpToTheBill: the segments of every bar add up to the bill, or to the estimate without
// one. Estimates are not scaled, and what they do not explain is the first segment.
func TestSegmentsAddUpToTheBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w windowview.Window
		if rapid.Bool().Draw(t, "has a bill") {
			w.Billed = new(rapid.Int64Range(0, 1_000_000).Draw(t, "billed"))
		}
		if rapid.Bool().Draw(t, "has a limit") {
			w.Max = new(rapid.Int64Range(0, 1_000_000).Draw(t, "limit"))
		}
		layers := make(map[string]int64)
		var estimate int64
		for range rapid.IntRange(1, 30).Draw(t, "blocks") {
			b := windowview.Block{Layer: rapid.SampledFrom([]string{"system", "tools", "user", "tool_results", ""}).Draw(t, "layer")}
			if rapid.Bool().Draw(t, "known") {
				b.Tokens = new(rapid.Int64Range(0, 100_000).Draw(t, "tokens"))
			}
			if rapid.IntRange(0, 9).Draw(t, "tool") == 0 {
				b.Target = "tool"
			} else if b.Tokens != nil {
				layers[b.Layer] += *b.Tokens
				estimate += *b.Tokens
			}
			w.Blocks = append(w.Blocks, b)
		}
		want := estimate
		if w.Billed != nil && len(w.ForModel()) > 0 {
			want = *w.Billed
		}
		var sum int64
		for i, s := range w.Segments() {
			sum += s.Tokens
			if s.Layer == windowview.Unexplained {
				if i != 0 || s.Tokens != *w.Billed-estimate {
					t.Fatalf("segment %d is %+v, billed %d, estimated %d", i, s, *w.Billed, estimate)
				}
			} else if s.Tokens != layers[s.Layer] {
				t.Fatalf("layer %q has %d tokens, want %d", s.Layer, s.Tokens, layers[s.Layer])
			}
		}
		if sum != want {
			t.Fatalf("the segments add up to %d, want %d", sum, want)
		}
		var out strings.Builder
		if err := w.Draw(&out, windowview.Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		bar := strings.Split(out.String(), "\n")[2]
		if n := len([]rune(bar)); n != 76 {
			t.Fatalf("the bar has %d characters: %s", n, bar)
		}
	})
}

func TestRestIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		layers   string
		unsized  bool
		negative bool
		want     string
	}{
		{layers: "user,tool_results", want: "system prompt and tools, not in the log"},
		{layers: "system,user", want: "tool definitions, not in the log"},
		{layers: "tools,user", want: "system prompt, not in the log"},
		{layers: "developer,tools", want: "not explained"},
		{layers: "developer,tools", unsized: true, want: "blocks of unknown size"},
		{layers: "user", unsized: true, want: "system prompt and tools, not in the log, and blocks of unknown size"},
		{layers: "user", unsized: true, negative: true, want: "estimated too high"},
	} {
		billed := int64(10)
		w := windowview.Window{Billed: &billed}
		for i, layer := range strings.Split(c.layers, ",") {
			b := windowview.Block{Layer: layer, Tokens: new(int64(1))}
			if c.negative {
				b.Tokens = new(int64(20))
			}
			if c.unsized && i == 0 {
				w.Blocks = append(w.Blocks, windowview.Block{Layer: layer})
			}
			w.Blocks = append(w.Blocks, b)
		}
		if got := w.Segments()[0]; got.Layer != windowview.Unexplained || got.Name != c.want {
			t.Errorf("%+v: %q of layer %q", c, got.Name, got.Layer)
		}
	}
}
