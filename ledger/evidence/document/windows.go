package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// Bounds of the drawings, for packs of every size.
const (
	maxTurns  = 40     // turns drawn
	maxTitles = 20_000 // items with known titles
	maxCalls  = 20_000 // calls with known budgets
	maxBlocks = 400    // lines of one window
)

// windows holds the newest window of each of the first turns.
type windows struct {
	first, last time.Time // of the events
	turns       []*window
	index       map[windowKey]*window
	further     map[windowKey]struct{} // turns beyond the drawn ones
	titles      map[string]string      // by item
	limits      map[callKey]limits
	attempts    bool // attempts of a turn are told apart
	bases       bases
}

type windowKey struct{ turn, attempt, target string }

// callKey is a call of an attempt. Two attempts can use the same call id.
type callKey struct{ attempt, call string }

// attempt returns the attempt of an event, or "" if attempts are not told apart.
func (w *windows) attempt(e *schema.Event) string {
	if w.attempts {
		return e.AttemptID
	}
	return ""
}

// limits are the limits of a call's budget.
type limits struct{ max, reserved *int64 }

// window is the content of a call's window.
type window struct {
	windowKey
	call, thread string
	limits
	blocks []blockLine
	// A runtime that records no assemblies can record how its window was composed, and from which
	// range of its item log.
	fromLog           bool
	logFirst, logNext *int64
	known             schema.Known
	rank              int // of the fidelity
}

type blockLine struct {
	layer, role, what string
	tokens            *int64
	redaction         schema.RedactionState
}

func (w *windows) begin(rules int) {
	w.attempts, w.bases.parts = rules >= 2, rules >= 3
	w.index, w.titles, w.limits = make(map[windowKey]*window), make(map[string]string), make(map[callKey]limits)
	w.further = make(map[windowKey]struct{})
}

// count returns how many turns have a window.
func (w *windows) count() int { return len(w.turns) + len(w.further) }

// see keeps the windows of a fact. whole is the assembly of an assembly's fact.
func (w *windows) see(e *schema.Event, fact schema.Fact, whole *assembly) {
	if w.first.IsZero() || e.Time.Before(w.first) {
		w.first = e.Time
	}
	if e.Time.After(w.last) {
		w.last = e.Time
	}
	w.name(fact)
	switch f := fact.(type) {
	case *schema.BudgetApplied:
		if f.CallID != "" && len(w.limits) < maxCalls {
			w.limits[callKey{w.attempt(e), f.CallID}] = limits{f.MaxTokens, f.ReservedTokens}
		}
	case *schema.AssemblyCreated:
		w.assembled(e, f, whole)
	case *schema.UsageRecorded:
		w.used(e, f)
	}
}

// name keeps the title of a fact's item.
func (w *windows) name(fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.ItemAdded:
		w.title(&f.Item)
	case *schema.ItemUpdated:
		w.title(&f.Item)
	}
}

func (w *windows) title(i *schema.Item) {
	if _, known := w.titles[i.ItemID]; i.Title != "" && (known || len(w.titles) < maxTitles) {
		w.titles[i.ItemID] = clip(i.Title, 80)
	}
}

// of returns the window of a turn, nil for turns that are not drawn.
func (w *windows) of(key windowKey) *window {
	found := w.index[key]
	if found != nil {
		return found
	}
	if len(w.turns) >= maxTurns {
		w.further[key] = struct{}{}
		return nil
	}
	found = &window{windowKey: key}
	w.index[key] = found
	w.turns = append(w.turns, found)
	return found
}

// whole returns an assembly with the blocks of its bases.
func (w *windows) whole(e *schema.Event, f *schema.AssemblyCreated) *assembly {
	blocks := make([]*block, 0, len(f.OrderedBlocks))
	for i := range f.OrderedBlocks {
		b := &f.OrderedBlocks[i]
		blocks = append(blocks, &block{line: blockLine{b.Layer, b.Role, w.what(b), b.Tokens, b.RedactionState}, items: b.ItemRefs})
	}
	return w.bases.see(assemblyKey{e.SessionID, w.attempt(e), f.AssemblyID}, f, blocks)
}

func (w *windows) assembled(e *schema.Event, f *schema.AssemblyCreated, whole *assembly) {
	found := w.of(windowKey{e.TurnID, w.attempt(e), f.Target})
	if found == nil {
		return
	}
	rank := fidelity(e, f.Known).Rank()
	if w.bases.parts && f.CallID != "" && found.call == f.CallID && found.rank < rank {
		return // another source knows the window of this call better
	}
	blocks := make([]blockLine, len(whole.blocks))
	for i, b := range whole.blocks {
		blocks[i] = b.line
	}
	*found = window{windowKey: found.windowKey, call: f.CallID, thread: e.ThreadID, limits: w.limits[callKey{w.attempt(e), f.CallID}], blocks: blocks, known: f.Known, rank: rank}
	if whole.lacking {
		found.known.Coverage = schema.CoveragePartial
		found.known.CoverageReasons = append(slices.Clip(f.CoverageReasons), string(schema.PartialBase))
	}
}

// what returns the name of a block for people.
func (w *windows) what(b *schema.Block) string {
	for _, ref := range b.ItemRefs {
		if title := w.titles[ref.ID()]; title != "" {
			return title
		}
	}
	return cmp.Or(clip(strings.Join(schema.RefIDs(b.ItemRefs), ", "), 80), b.Block)
}

// used keeps the composition of a call without an assembly.
func (w *windows) used(e *schema.Event, f *schema.UsageRecorded) {
	key := windowKey{e.TurnID, w.attempt(e), "model"}
	if f.AssemblyID != "" || len(f.Layers) == 0 || w.index[key] != nil && !w.index[key].fromLog {
		return
	}
	found := w.of(key)
	if found == nil {
		return
	}
	*found = window{windowKey: key, call: f.CallID, thread: e.ThreadID, limits: w.limits[callKey{w.attempt(e), f.CallID}], fromLog: true, logFirst: f.WindowFirst, logNext: f.WindowNext}
	for i := range f.Layers {
		l := &f.Layers[i]
		what := "the whole layer"
		if l.Items != nil {
			what = plural(uint64(max(0, *l.Items)), "item")
		}
		found.blocks = append(found.blocks, blockLine{l.Layer, "", what, l.Tokens, ""})
	}
}

// fills are the characters of the layers in a bar.
var fills = []rune("█▓▒░▞▚▙▜")

const barWidth = 68

// layerSum is the share of one layer.
type layerSum struct {
	name    string
	tokens  uint64
	blocks  uint64
	unknown uint64 // blocks of unknown size
}

func (w *window) layers() (layers []layerSum, total uint64) {
	place := make(map[string]int)
	for i := range w.blocks {
		b := &w.blocks[i]
		j, ok := place[b.layer]
		if !ok {
			j = len(layers)
			place[b.layer] = j
			layers = append(layers, layerSum{name: b.layer})
		}
		layers[j].blocks++
		if b.tokens == nil {
			layers[j].unknown++
			continue
		}
		layers[j].tokens += uint64(max(0, *b.tokens))
		total += uint64(max(0, *b.tokens))
	}
	return layers, total
}

// draw writes the window: a bar of its layers, the size of each, and the blocks in order.
func (w *window) draw(out *strings.Builder) {
	title := "turn " + cmp.Or(w.turn, "(none)")
	if w.call != "" {
		title += ", call " + w.call
	}
	if w.attempt != "" {
		title += ", attempt " + w.attempt
	}
	if w.target != "model" {
		title += ", for " + w.target
	}
	layers, total := w.layers()
	size := total
	if w.max != nil && *w.max > 0 {
		size = max(total, uint64(*w.max))
	}
	fmt.Fprintf(out, "%s\n\n```text\n%s\n", heading(title), bar(layers, size))
	for i, l := range layers {
		fmt.Fprintf(out, "  %c  %-16s %10s tokens  %s", fills[i%len(fills)], line(cmp.Or(l.name, "(no layer)"), 16), thousands(l.tokens), plural(l.blocks, "block"))
		if l.unknown > 0 {
			fmt.Fprintf(out, ", %s of unknown size", thousands(l.unknown))
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "  %s tokens", thousands(total))
	if w.max != nil {
		fmt.Fprintf(out, " in a window of %s", thousands(uint64(max(0, *w.max))))
	}
	if w.reserved != nil {
		fmt.Fprintf(out, ", %s kept for the answer", thousands(uint64(max(0, *w.reserved))))
	}
	out.WriteString("\n\n")
	if w.known.Fidelity != "" || w.known.Coverage != "" {
		fmt.Fprintf(out, "  How the window is known: %s", line(cmp.Or(string(w.known.Fidelity), "not recorded"), 20))
		if w.known.Coverage == schema.CoveragePartial {
			fmt.Fprintf(out, "; partial: %s", line(strings.Join(w.known.CoverageReasons, ", "), 80))
		}
		out.WriteString("\n\n")
	}
	if w.fromLog {
		out.WriteString("  The runtime recorded no assembly for this call")
		if w.logFirst != nil && w.logNext != nil {
			fmt.Fprintf(out, "; its window was projected from the entries\n  at positions %d up to, not including, %d of the item log", *w.logFirst, *w.logNext)
		}
		out.WriteString(".\n```\n\n")
		return
	}
	for i := range w.blocks[:min(maxBlocks, len(w.blocks))] {
		b := &w.blocks[i]
		tokens := "?"
		if b.tokens != nil {
			tokens = thousands(uint64(max(0, *b.tokens)))
		}
		fmt.Fprintf(out, "%5d  %-13s %-10s %8s  %s", i, line(b.layer, 13), line(b.role, 10), tokens, line(b.what, 60))
		if b.redaction != "" && b.redaction != schema.RedactionNone {
			fmt.Fprintf(out, "  [%s]", line(string(b.redaction), 20))
		}
		out.WriteByte('\n')
	}
	if more := len(w.blocks) - maxBlocks; more > 0 {
		fmt.Fprintf(out, "       and %s\n", plural(uint64(more), "further block"))
	}
	out.WriteString("```\n\n")
}

// bar draws the layers in proportion to their tokens. A small layer gets at least one cell, if a cell
// is left.
func bar(layers []layerSum, size uint64) string {
	var b strings.Builder
	free := barWidth
	for i, l := range layers {
		if l.tokens == 0 || size == 0 {
			continue
		}
		n := min(free, max(1, int(float64(barWidth)*float64(l.tokens)/float64(size))))
		free -= n
		b.WriteString(strings.Repeat(string(fills[i%len(fills)]), n))
	}
	return "  │" + b.String() + strings.Repeat(" ", free) + "│"
}

// line turns untrusted text into one line of at most n runes. Backticks are replaced, because they could end
// a code block.
func line(text string, n int) string {
	return clip(strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029:
			return ' '
		}
		return r
	}, text), n)
}

func heading(text string) string { return "### " + line(text, 160) }
