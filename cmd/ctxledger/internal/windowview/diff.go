package windowview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// marks are the signs and colours of the changes, similar to the output of diff.
var marks = map[string]struct {
	sign   string
	colour int
}{
	Entered: {"+", ui.Green}, Left: {"-", ui.Red}, Moved: {">", ui.Cyan}, Shortened: {"<", ui.Yellow}, Grown: {"^", ui.Yellow}, Changed: {"~", ui.Yellow},
}

// Draw writes the two windows, their differences in the order of the second, and the cost of
// the first change. Unchanged blocks are only counted.
func (d Difference) Draw(out io.Writer, s Style) error {
	for i, w := range []Window{d.Before, d.After} {
		mark, colour := "---", ui.Red
		if i == 1 {
			mark, colour = "+++", ui.Green
		}
		fmt.Fprintln(out, s.paint(colour, mark)+" "+ui.Wrap(w.heading(), s.Width, 4, "    "))
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := d.drawChanges(out, s); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, line := range d.cost() {
		fmt.Fprintln(out, ui.Wrap(line, s.Width, 0, "  "))
	}
	return nil
}

func (w Window) heading() string {
	tokens, unknown := w.total()
	text := fmt.Sprintf("turn %s, call %s of session %s: %s, %s tokens", w.Turn, cmp.Or(w.Call, "(unnamed)"), w.Session, ui.Plural(len(w.Blocks), "block"), ui.Thousands(tokens))
	if unknown > 0 {
		text += fmt.Sprintf(" and %s of unknown size", ui.Plural(unknown, "block"))
	}
	return text
}

// drawChanges writes the table of changes, with one line for each run of unchanged blocks.
func (d Difference) drawChanges(out io.Writer, s Style) error {
	t := ui.Table{Columns: []ui.Column{
		{}, {Name: "WAS", Right: true}, {Name: "IS", Right: true}, {Name: "LAYER", Least: 8}, {Name: "TOKENS", Right: true}, {Name: "WHAT", Least: 24, Wrap: true, Title: true},
	}}
	var quiet []Block
	rest := func() {
		if len(quiet) > 0 {
			t.Rows = append(t.Rows, []string{"", "", "", "…", ui.Known(sum(quiet)), ui.Plural(len(quiet), "block") + " unchanged"})
			t.Paint = append(t.Paint, nil)
		}
		quiet = nil
	}
	for _, c := range d.Changes {
		if c.Kind == Kept {
			quiet = append(quiet, *c.After)
			continue
		}
		rest()
		t.Rows = append(t.Rows, c.row())
		t.Paint = append(t.Paint, func(line string) string { return s.paint(marks[c.Kind].colour, line) })
	}
	rest()
	return t.Write(out, s.Width, "")
}

func (c Change) row() []string {
	was, is, tokens := "", "", ""
	shown := c.After
	switch {
	case c.Before == nil:
		is, tokens = fmt.Sprint(c.After.Position), ui.Known(c.After.Tokens)
	case c.After == nil:
		shown = c.Before
		was, tokens = fmt.Sprint(c.Before.Position), ui.Known(c.Before.Tokens)
	default:
		was, is, tokens = fmt.Sprint(c.Before.Position), fmt.Sprint(c.After.Position), ui.Known(c.After.Tokens)
		if c.Kind != Moved {
			tokens = ui.Known(c.Before.Tokens) + " → " + tokens
		}
	}
	var notes []string
	if c.Kind != Entered && c.Kind != Left {
		notes = append(notes, c.Kind)
	}
	if c.Moved && c.Kind != Moved {
		notes = append(notes, "moved")
	}
	if note := shown.Note(ui.Thousands); note != "" && c.Kind != Left {
		notes = append(notes, note)
	}
	return []string{marks[c.Kind].sign, was, is, shown.Layer, tokens, withNote(shown.What(), strings.Join(notes, "; "))}
}

// cost describes the cost of the first change.
func (d Difference) cost() []string {
	var lines []string
	if counts := d.counts(); counts != "" {
		lines = append(lines, counts)
	}
	if d.FirstChanged == nil {
		return append(lines, "Nothing changed: the whole window can be read from the cache.")
	}
	first := fmt.Sprintf("The first change is at position %d", *d.FirstChanged)
	if d.Common != nil {
		first += fmt.Sprintf(", after %s tokens at the start of both windows", ui.Thousands(*d.Common))
	}
	lines = append(lines, first+".")
	if d.Expected == nil {
		lines = append(lines, "Expected to be computed again: unknown, because a later block has an unknown size.")
	} else {
		n := deref(d.Common) + *d.Expected
		text := fmt.Sprintf("Expected to be computed again: %s tokens", ui.Thousands(*d.Expected))
		if d.Common != nil {
			text += fmt.Sprintf(" (%s − %s)", ui.Thousands(n), ui.Thousands(*d.Common))
		}
		lines = append(lines, text+fmt.Sprintf(", of which %s are new and %s were in the window before.", ui.Thousands(*d.New), ui.Thousands(*d.Penalty)))
	}
	return append(lines, d.bill())
}

func (d Difference) bill() string {
	if d.Recomputed == nil {
		return "Billed as computed again: unknown, because no bill of the provider is recorded for the second call."
	}
	text := fmt.Sprintf("Billed as computed again: %s tokens (window %s − %s read from the cache)", ui.Thousands(*d.Recomputed), ui.Thousands(*d.After.Billed), ui.Thousands(*d.After.CacheRead))
	if !d.Adjacent {
		text += ", compared with the call before it, " + cmp.Or(d.After.Previous, "which is unknown") + ", and not with " + cmp.Or(d.Before.Call, "the first window")
	}
	return text + "."
}

// counts returns the number of changed blocks, by kind.
func (d Difference) counts() string {
	count, tokens := make(map[string]int), make(map[string]int64)
	for _, c := range d.Changes {
		count[c.Kind]++
		switch {
		case c.Before == nil:
			tokens[c.Kind] += deref(c.After.Tokens)
		case c.After == nil:
			tokens[c.Kind] += deref(c.Before.Tokens)
		case c.Before.Tokens != nil && c.After.Tokens != nil:
			tokens[c.Kind] += *c.After.Tokens - *c.Before.Tokens
		}
	}
	var parts []string
	for _, kind := range []string{Entered, Left, Shortened, Grown, Changed, Moved} {
		if count[kind] == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", count[kind], kind)
		if kind != Moved && kind != Changed {
			part += " (" + ui.Thousands(max(tokens[kind], -tokens[kind])) + " tokens)"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}
