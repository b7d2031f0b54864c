// Package windowview draws a context window for a person: a bar by layer, and
// its blocks in order.
package windowview

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Block is one part of a window as the model saw it.
type Block struct {
	Position  int64
	Layer     string
	Role      string
	Title     string
	Tokens    *int64 // as sent; nil is unknown
	Full      *int64 // before it was shortened; nil is unknown
	Elided    bool
	Redaction string
	Item      string
}

// Window is what is drawn.
type Window struct {
	Title    string
	Blocks   []Block // in order
	Max      *int64  // tokens, prompt and output; nil is unknown
	Reserved *int64  // tokens kept free for the output
	Billed   *int64  // tokens of the prompt that the provider billed
	Colour   bool
}

// layer sums the blocks of one layer.
type layer struct {
	name    string
	tokens  int64
	items   int
	unknown int // items of unknown size
}

const (
	barWidth   = 64
	titleWidth = 44
)

// fills tell the layers apart where there is no colour, and colours where
// there is.
var (
	fills   = []rune("█▓▒░▞▚▙▜")
	colours = []int{33, 36, 32, 35, 34, 31, 93, 96}
)

// Draw writes the bar, the layers and the table of blocks.
func (w Window) Draw(out io.Writer) error {
	layers, total, unknown := w.layers()
	size := total
	if w.Max != nil {
		size = max(total, *w.Max)
	}
	fmt.Fprintf(out, "%s\n\n  %s\n", w.Title, w.bar(layers, size))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, l := range layers {
		fmt.Fprintf(t, "  %s\t%s\t%s tokens\t%s\t%s\t\n", w.paint(i, strings.Repeat(string(fills[i%len(fills)]), 2)),
			cmp.Or(l.name, "(no layer)"), tokensOf(l), percent(l.tokens, size), plural(l.items, "item"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "  %s\n\n", w.summary(total, unknown))
	return w.table(out)
}

func (w Window) layers() (layers []layer, total int64, unknown int) {
	index := make(map[string]int)
	for _, b := range w.Blocks {
		i, ok := index[b.Layer]
		if !ok {
			i = len(layers)
			index[b.Layer] = i
			layers = append(layers, layer{name: b.Layer})
		}
		layers[i].items++
		if b.Tokens == nil {
			layers[i].unknown++
			unknown++
			continue
		}
		layers[i].tokens += *b.Tokens
		total += *b.Tokens
	}
	return layers, total, unknown
}

func tokensOf(l layer) string {
	if l.unknown > 0 {
		return fmt.Sprintf("%s + %d of unknown size,", thousands(l.tokens), l.unknown)
	}
	return thousands(l.tokens)
}

func percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// bar draws each layer in proportion, what is left of the reserve as dots and
// the rest as spaces. A layer with any tokens has at least one cell, which the
// largest one gives where there are too few.
func (w Window) bar(layers []layer, size int64) string {
	cells := make([]int, len(layers))
	free := barWidth
	for i, l := range layers {
		cells[i] = share(l.tokens, size)
		free -= cells[i]
	}
	for ; free < 0; free++ {
		largest := 0
		for i := range cells {
			if cells[i] > cells[largest] {
				largest = i
			}
		}
		cells[largest]--
	}
	var b strings.Builder
	for i, n := range cells {
		b.WriteString(w.paint(i, strings.Repeat(string(fills[i%len(fills)]), n)))
	}
	reserve := 0
	if w.Reserved != nil {
		reserve = min(free, share(*w.Reserved, size))
	}
	return "│" + b.String() + strings.Repeat(" ", free-reserve) + strings.Repeat("·", reserve) + "│"
}

func share(tokens, size int64) int {
	if tokens <= 0 || size <= 0 {
		return 0
	}
	return max(1, int(barWidth*float64(tokens)/float64(size)))
}

func (w Window) paint(i int, s string) string {
	if !w.Colour {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[i%len(colours)], s)
}

func (w Window) summary(total int64, unknown int) string {
	text := thousands(total) + " tokens estimated"
	if unknown > 0 {
		text = fmt.Sprintf("at least %s, %s of unknown size", text, plural(unknown, "block"))
	}
	if w.Max != nil {
		text += " in a window of " + thousands(*w.Max)
	}
	if w.Reserved != nil {
		text += ", " + thousands(*w.Reserved) + " (·) kept for the answer"
	}
	if w.Billed != nil {
		text += "; the provider billed " + thousands(*w.Billed)
	}
	return text
}

func (w Window) table(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  #\tLAYER\tROLE\tTOKENS\tWHAT\tNOTE")
	for _, b := range w.Blocks {
		tokens := "?"
		if b.Tokens != nil {
			tokens = thousands(*b.Tokens)
		}
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\t%s\n", b.Position, b.Layer, b.Role, tokens, shorten(cmp.Or(b.Title, b.Item), titleWidth), b.note())
	}
	return t.Flush()
}

func (b Block) note() string {
	var notes []string
	if b.Elided {
		note := "elided"
		if b.Full != nil {
			note += ", was " + thousands(*b.Full)
		}
		notes = append(notes, note)
	}
	if b.Redaction != "" && b.Redaction != "none" {
		notes = append(notes, b.Redaction)
	}
	return strings.Join(notes, "; ")
}

// shorten cuts s to n characters and takes line breaks out.
func shorten(s string, n int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
