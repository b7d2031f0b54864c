package windowview_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

func example() windowview.Window {
	w := windowview.Window{
		Session: "s", Turn: "t", Call: "c2", Model: "m", Previous: "c1", Max: new(int64(10_000)), Reserved: new(int64(1_000)), Billed: new(int64(5_100)), CacheRead: new(int64(4_000)),
		OmittedItems: 3, OmittedTokens: new(int64(9_040)), OmittedUnknown: 1, OmissionReasons: []windowview.Omitted{{Reason: "budget_limit", Items: 2}, {Reason: "low_relevance", Items: 1}},
		Blocks: []windowview.Block{
			{Position: 0, Layer: "system", Role: "system", Title: "system prompt", Tokens: new(int64(5)), New: new(false)},
			{Position: 1, Layer: "tools", Role: "tool", Title: "a result\nover two lines", Tokens: new(int64(4_000)), Full: new(int64(6_000)), Shortened: "tail", New: new(false)},
			{Position: 2, Layer: "tools", Role: "tool", Title: strings.Repeat("long ", 20), Tokens: new(int64(14)), Full: new(int64(1_364)), Elided: true, Level: "offloaded", Stub: "file:exit.go", New: new(false)},
			{Position: 3, Layer: "media", Role: "user", Items: []string{"item-4"}, Redaction: "masked", Policies: "policy:no-credentials", StandIn: "item-5", New: new(true)},
			{Position: 4, Layer: "user", Role: "user", Name: "hello", Tokens: new(int64(70)), New: new(true), Injected: new(false)},
		},
	}
	return windowview.WithTotals(w)
}

type drawn interface {
	Draw(out io.Writer, s windowview.Style) error
}

func draw(t *testing.T, d drawn, s windowview.Style) string {
	t.Helper()
	var b strings.Builder
	if err := d.Draw(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares text with a file of testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	golden(t, "window_80.txt", draw(t, example(), windowview.Style{Width: 80}))
	golden(t, "window_50.txt", draw(t, example(), windowview.Style{Width: 50}))
}

// TestDrawKeepsWithinTheTerminal: lines keep their width for all numbers.
func TestDrawKeepsWithinTheTerminal(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*windowview.Window){
		"no maximum":   func(w *windowview.Window) { w.Max = nil },
		"tiny maximum": func(w *windowview.Window) { w.Max = new(int64(1)) },
		"zero maximum": func(w *windowview.Window) { w.Max, w.Reserved = new(int64(0)), new(int64(0)) },
		"all reserved": func(w *windowview.Window) { w.Reserved = new(int64(9_999)) },
		"empty":        func(w *windowview.Window) { w.Blocks = nil },
		"many layers": func(w *windowview.Window) {
			for i := range 90 {
				w.Blocks = append(w.Blocks, windowview.Block{Layer: strings.Repeat("x", i%12+1) + strings.Repeat("y", i/12), Tokens: new(int64(1))})
			}
		},
	} {
		for _, width := range []int{60, 80, 132, 200} {
			w := example()
			change(&w)
			for line := range strings.Lines(draw(t, w, windowview.Style{Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: a line of %d characters on a terminal of %d: %s", name, n, width, line)
				}
			}
			wantBar := min(72, width-4) + 2
			bar := strings.TrimSpace(strings.Split(draw(t, w, windowview.Style{Width: width}), "\n")[2])
			if n := utf8.RuneCountInString(bar); n != wantBar {
				t.Errorf("%s: the bar has %d cells with its ends, want %d: %s", name, n, wantBar, bar)
			}
		}
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	plain, painted := draw(t, example(), windowview.Style{Width: 80}), draw(t, example(), windowview.Style{Width: 80, Colour: true})
	if !strings.Contains(painted, "\x1b[33m") || strings.Contains(plain, "\x1b") {
		t.Errorf("painted %q\nplain %q", painted, plain)
	}
	for _, code := range []string{"\x1b[33m", "\x1b[36m", "\x1b[32m", "\x1b[35m", "\x1b[0m"} {
		painted = strings.ReplaceAll(painted, code, "")
	}
	if painted != plain {
		t.Errorf("colour changes the text:\n%s\n%s", painted, plain)
	}
}

// TestTexts: a text keeps its lines and shows its controls, and a block says what its text is.
func TestTexts(t *testing.T) {
	t.Parallel()
	w := windowview.Window{Blocks: []windowview.Block{
		{Position: 0, Layer: "user", Title: "prompt", Text: "one\n\ttwo\x1b[2J\u202e\r\nthree", TextOf: windowview.TextOfBlock},
		{Position: 1, Layer: "tool_results", Title: "read", Elided: true, Text: "whole", TextOf: windowview.TextOfItem},
		{Position: 2, Title: "a\nb"},
	}}
	var out strings.Builder
	if err := w.DrawTexts(&out); err != nil {
		t.Fatal(err)
	}
	want := `
  [0] user: prompt
      one
          two\u001b[2J\u202e
      three

  [1] tool_results: read (the text of the item; the model saw less)
      whole

  [2] (no layer): a b (no text is stored)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := (windowview.Window{Blocks: w.Blocks[2:]}).DrawTexts(&out); err != nil || !strings.Contains(out.String(), "--store-text") {
		t.Errorf("without texts: %q, %v", out.String(), err)
	}
}
