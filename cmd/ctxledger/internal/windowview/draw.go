package windowview

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// Style holds the settings of a drawing.
type Style struct {
	Width  int // characters of a line
	Colour bool
}

// accountIndent is the column in which the sentences of the account begin.
const accountIndent = 13

// Draw writes the bar, the layers, the account of the window, and the table of blocks.
func (w Window) Draw(out io.Writer, s Style) error {
	title := fmt.Sprintf("turn %s, call %s of session %s", w.Turn, cmp.Or(w.Call, "(unnamed)"), w.Session)
	if w.Model != "" {
		title += ", " + w.Model
	}
	if w.AsOf != "" {
		title += ", as the ledger knew it at " + w.AsOf
	}
	fmt.Fprintf(out, "%s\n\n", ui.Wrap(title, s.Width, 0, "  "))
	segments := w.Segments()
	size := tokensOf(segments)
	if w.Max != nil {
		size = max(size, *w.Max)
	}
	if _, err := fmt.Fprintf(out, "  %s\n", w.bar(segments, size, s)); err != nil {
		return err
	}
	if err := drawLayers(out, segments, max(0, size-tokensOf(segments)), s); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, line := range w.account() {
		fmt.Fprintf(out, "  %-*s%s\n", accountIndent-2, line[0], ui.Wrap(line[1], s.Width, accountIndent, strings.Repeat(" ", accountIndent)))
	}
	fmt.Fprintln(out)
	return w.table().Write(out, s.Width, "  ")
}

// DrawTexts writes the stored text of each block below its position and name. A line of a text is a
// line of the output, with four spaces for a tab and escapes for other
// controls.
func (w Window) DrawTexts(out io.Writer) error {
	if !slices.ContainsFunc(w.Blocks, func(b Block) bool { return b.Text != "" || b.TextLack != "" }) {
		_, err := fmt.Fprint(out, "\n  no text of this window is stored: `ctxledger import` and `ctxledger run` store texts with --store-text\n")
		return err
	}
	for _, b := range w.Blocks {
		note := ""
		switch {
		case b.TextLack != "":
			note = " (not shown: " + ui.Safe(b.TextLack) + ")"
		case b.Text == "":
			note = " (no text is stored)"
		case b.TextOf == TextOfItem && b.Elided, b.TextOf == TextOfItem && b.Shortened != "":
			note = " (the text of the item; the model saw less)"
		}
		if _, err := fmt.Fprintf(out, "\n  [%d] %s: %s%s\n", b.Position, cmp.Or(b.Layer, "(no layer)"), ui.Shorten(b.What(), widestName), note); err != nil {
			return err
		}
		for line := range strings.Lines(b.Text) {
			if _, err := fmt.Fprintf(out, "      %s\n", ui.Safe(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Total is the size of one layer of a window whose blocks are not available.
type Total struct {
	Layer  string
	Tokens *int64 // nil if unknown
	Items  int64
}

// DrawTotals writes the bar and the layers of a window.
func DrawTotals(out io.Writer, totals []Total, s Style) error {
	segments := make([]Segment, len(totals))
	for i, t := range totals {
		segments[i] = Segment{Layer: t.Layer, Name: t.Layer, Tokens: deref(t.Tokens), Items: int(t.Items)}
		if t.Tokens == nil {
			segments[i].Unknown = segments[i].Items
		}
	}
	if _, err := fmt.Fprintf(out, "  %s\n", Window{}.bar(segments, tokensOf(segments), s)); err != nil {
		return err
	}
	return drawLayers(out, segments, 0, s)
}

// drawLayers writes a row for each segment, with its share of the bill, or of the estimate without one,
// and a row for the free tokens.
func drawLayers(out io.Writer, segments []Segment, free int64, s Style) error {
	size := tokensOf(segments)
	t := ui.Table{Columns: []ui.Column{{}, {Least: 8}, {Right: true}, {Right: true}, {Right: true}, {Least: 8, Wrap: true}}}
	for i, l := range segments {
		share, items, unknown := "", "", ""
		if size > 0 {
			share = fmt.Sprintf("%.1f%%", 100*float64(l.Tokens)/float64(size))
		}
		if l.Layer != Unexplained {
			items = ui.Plural(l.Items, "item")
		}
		if l.Unknown > 0 {
			unknown = fmt.Sprintf("%s of unknown size", ui.Thousands(int64(l.Unknown)))
		}
		fill, colour := look(segments, i)
		mark := strings.Repeat(string(fill), 2)
		t.Rows = append(t.Rows, []string{mark, cmp.Or(l.Name, "(no layer)"), ui.Plural(l.Tokens, "token"), share, items, unknown})
		t.Paint = append(t.Paint, func(line string) string {
			return strings.Replace(line, mark, s.paint(colour, mark), 1)
		})
	}
	if free > 0 {
		t.Rows = append(t.Rows, []string{"", "free", ui.Plural(free, "token"), "", "", ""})
		t.Paint = append(t.Paint, func(line string) string { return line })
	}
	return t.Write(out, s.Width, "  ")
}

func (s Style) paint(code int, text string) string {
	if !s.Colour || code == plain || text == "" {
		return text
	}
	return ui.Paint(code, text)
}

// account returns lines of a word and a sentence: the contents of the window, its cost, and the
// omitted items.
func (w Window) account() (lines [][2]string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	total, unknown := w.total()
	estimated := ui.Thousands(total) + " tokens"
	if unknown > 0 {
		estimated = fmt.Sprintf("at least %s, %s of unknown size", estimated, ui.Plural(unknown, "block"))
	}
	if w.Max != nil {
		estimated += " in a window of " + ui.Thousands(*w.Max)
		if w.MaxSource != "" {
			estimated += " (" + w.MaxSource + ")"
		}
	}
	if w.Reserved != nil {
		estimated += ", " + ui.Thousands(*w.Reserved) + " (·) kept for the answer"
	}
	add("estimated", "%s", estimated)
	add("billed", "%s", w.bill())
	if w.Corrected != nil && w.CorrectedError != nil {
		add("corrected", "%s tokens by the bill of call %s and the growth of the session's bills: %s", ui.Thousands(*w.Corrected), w.CorrectedBy, Off(*w.CorrectedError))
	}
	if fresh, tokens, known := w.fresh(); known {
		add("new", "%s, %s since call %s", ui.Plural(fresh, "block"), ui.Plural(tokens, "token"), w.Previous)
	}
	if persona := w.persona(); persona != "" {
		add("persona", "%s", persona)
	}
	lines = append(lines, w.shortened()...)
	if w.OmittedItems > 0 {
		add("omitted", "%s", w.omissions())
	}
	return lines
}

// Off writes how far a figure differs from the bill, as a part of the bill.
func Off(part float64) string {
	switch percent := fmt.Sprintf("%.1f %%", 100*math.Abs(part)); {
	case percent == "0.0 %":
		return "as billed"
	case part > 0:
		return percent + " more than billed"
	default:
		return percent + " less than billed"
	}
}

func (w Window) bill() string {
	if w.Billed == nil {
		return "unknown: no bill of the provider is recorded"
	}
	text := "the provider billed " + ui.Thousands(*w.Billed)
	if w.CacheRead != nil {
		text += fmt.Sprintf(", %s of it read from the cache", ui.Thousands(*w.CacheRead))
	}
	switch {
	case w.Unattributed == nil || *w.Unattributed == 0:
	case *w.Unattributed > 0:
		text += fmt.Sprintf("; %s more than estimated", ui.Thousands(*w.Unattributed))
	default:
		text += fmt.Sprintf("; %s fewer than estimated", ui.Thousands(-*w.Unattributed))
	}
	return text
}

// fresh counts the blocks that the call before did not have.
func (w Window) fresh() (blocks int, tokens int64, known bool) {
	for _, b := range w.Blocks {
		known = known || b.New != nil
		if b.New != nil && *b.New {
			blocks++
			tokens += deref(b.Tokens)
		}
	}
	return blocks, tokens, known
}

// shortened counts the blocks of which the window holds only a part.
func (w Window) shortened() (lines [][2]string) {
	var elided, cut, redacted int
	var elidedFrom, elidedTo, cutFrom, cutTo int64
	for _, b := range w.Blocks {
		switch {
		case b.Elided:
			elided, elidedFrom, elidedTo = elided+1, elidedFrom+deref(b.Full), elidedTo+deref(b.Tokens)
		case b.Shortened != "":
			cut, cutFrom, cutTo = cut+1, cutFrom+deref(b.Full), cutTo+deref(b.Tokens)
		}
		if b.isRedacted() {
			redacted++
		}
	}
	if elided > 0 {
		lines = append(lines, [2]string{"elided", fmt.Sprintf("%s, %s → %s tokens", ui.Plural(elided, "block"), ui.Thousands(elidedFrom), ui.Thousands(elidedTo))})
	}
	if cut > 0 {
		lines = append(lines, [2]string{"shortened", fmt.Sprintf("%s, %s → %s tokens, to fit the budget", ui.Plural(cut, "block"), ui.Thousands(cutFrom), ui.Thousands(cutTo))})
	}
	if redacted > 0 {
		lines = append(lines, [2]string{"redacted", ui.Plural(redacted, "block")})
	}
	return lines
}

func (w Window) omissions() string {
	text := ui.Plural(w.OmittedItems, "item")
	if w.OmittedTokens != nil {
		text += fmt.Sprintf(", %s tokens", ui.Thousands(*w.OmittedTokens))
	}
	if w.OmittedUnknown > 0 {
		text += fmt.Sprintf(", %s of unknown size", ui.Thousands(w.OmittedUnknown))
	}
	for i, r := range w.OmissionReasons {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += fmt.Sprintf("%s%s %s", separator, cmp.Or(r.Reason, "(no reason)"), ui.Thousands(r.Items))
	}
	return text
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// table lists the blocks, with notes below the names.
func (w Window) table() ui.Table {
	t := ui.Table{Columns: []ui.Column{
		{Name: "#", Right: true}, {}, {Name: "LAYER", Least: 8}, {Name: "ROLE", Least: 6}, {Name: "TOKENS", Right: true}, {Name: "WHAT", Least: 24, Wrap: true, Title: true},
	}}
	for _, b := range w.Blocks {
		mark := ""
		if b.New != nil && *b.New {
			mark = "+"
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(b.Position), mark, b.Layer, b.Role, ui.Known(b.Tokens), withNote(b.What(), b.Note(ui.Thousands))})
	}
	return t
}

// widestName is the number of characters of a block's name that are shown.
const widestName = 100

// withNote puts a note below a name, which takes one line.
func withNote(name, note string) string {
	name = ui.Shorten(name, widestName)
	if note == "" {
		return name
	}
	return name + "\n" + note
}

// Note returns how the block was shortened or withheld, and whether it was injected. Its numbers are
// written by write.
func (b Block) Note(write ui.Numbers) string {
	var notes []string
	if b.Elided {
		notes = append(notes, b.elision(write))
	}
	if b.Shortened != "" {
		notes = append(notes, fmt.Sprintf("cut (%s), was %s", b.Shortened, write.Known(b.Full)))
	}
	if b.isRedacted() {
		note := b.Redaction
		if b.Policies != "" {
			note += " under " + b.Policies
		}
		if b.StandIn != "" {
			note += ", " + "replaced by " + b.StandIn
		}
		notes = append(notes, note)
	}
	if b.Injected != nil && !*b.Injected {
		notes = append(notes, "assembled but not injected")
	}
	if b.Content != "" {
		notes = append(notes, b.Content)
	}
	return strings.Join(notes, "; ")
}

func (b Block) elision(write ui.Numbers) string {
	note := "elided"
	if b.Level != "" {
		note += " (" + b.Level + ")"
	}
	if b.Full != nil {
		note += ", was " + write(*b.Full)
	}
	if b.Stub != "" {
		note += ", again from " + b.Stub
	}
	return note
}
