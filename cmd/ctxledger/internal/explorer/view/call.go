package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// Call is the window of one call.
type Call struct {
	river.Call
	Of         int // number of drawn calls of the session
	Anchor     string
	Selected   bool
	Window     windowview.Window
	Strip      river.Strip
	Sub        string
	Blocks     []Block // the largest, or all in the order of the window
	Whole      bool    // Blocks are all blocks
	More       int     // blocks that are not listed
	Rest       *int64  // billed − estimated tokens, listed as a row of its own; nil if they agree
	Prev, Next string  // links; empty for none
	Ghosts     []Ghost
	Left       []LeftOut // candidates that were left out, on the page of a window
	MoreLeft   int       // of them that are not listed
	Hits       []BlockHit
}

// LeftOut is a candidate that was left out of a window.
type LeftOut struct {
	Item, Href   string
	Tokens       *int64
	Reason, Note string
}

// BlockHit is the place of a block that a pointer can hit.
type BlockHit struct {
	X, Width    float64
	Href, Title string
}

// fidelities are the words for how a call is known.
var fidelities = map[string]string{
	"wire": "as it was on the wire", "serialized": "as the program serialised it", "stated": "stated by the runtime",
	"reported": "reported by telemetry", "reconstructed": "reconstructed from a log",
}

// Known says how the call is known, and what its record lacks.
func (v Call) Known() string {
	if v.Fidelity == "" {
		return ""
	}
	text := cmp.Or(fidelities[v.Fidelity], words(v.Fidelity))
	if v.Coverage == "partial" && len(v.Lacks) > 0 {
		text += ", partial: " + words(strings.Join(v.Lacks, ", "))
	}
	return text
}

// Block is a row of the table of blocks.
type Block struct {
	windowview.Block
	Layer string
	Class string
	Href  string // of the item's history; empty for none
	What  string
	Share string
	Notes string
}

// Ghost is a reason why candidates were left out.
type Ghost struct {
	Items  int64
	Reason string
}

// listed is how many of the largest blocks a report lists for a call.
const listed = 8

// CallOf prepares the window of a call. A whole window lists every block.
func CallOf(c river.Call, of int, w windowview.Window, whole bool, item func(id string) string) Call {
	w.Billed = cmp.Or(w.Billed, c.Billed)
	w.CacheRead = cmp.Or(w.CacheRead, c.Read)
	v := Call{Call: c, Of: of, Window: w, Strip: river.DrawStrip(w), Whole: whole}
	v.Sub = v.subtitle()
	blocks := w.ForModel()
	if !whole {
		slices.SortStableFunc(blocks, func(a, b windowview.Block) int { return cmp.Compare(size(b), size(a)) })
		v.More = max(0, len(blocks)-listed)
		blocks = blocks[:min(len(blocks), listed)]
	}
	for _, b := range blocks {
		row := Block{Block: b, Layer: words(b.Layer), Class: "l-" + string(river.LayerOf(b.Layer)), What: shorten(b.What()), Notes: shorten(b.Note(spaced))}
		if river.IsWithheld(b) && row.Notes == "" {
			row.Notes = "withheld in part"
		}
		if b.Tokens != nil {
			row.Share = percent(*b.Tokens, v.Strip.Total)
		}
		if item != nil && len(b.Items) > 0 {
			row.Href = item(b.Items[0])
		}
		v.Blocks = append(v.Blocks, row)
	}
	if item != nil {
		v.Hits = hits(v.Strip, item)
	}
	if v.Strip.Difference != 0 {
		v.Rest = &v.Strip.Difference
	}
	for _, o := range w.OmissionReasons {
		v.Ghosts = append(v.Ghosts, Ghost{o.Items, words(o.Reason)})
	}
	return v
}

// hits returns the places of the blocks that are wide enough for a pointer.
func hits(s river.Strip, item func(id string) string) (list []BlockHit) {
	for _, b := range s.Blocks {
		if b.Width < 1 || len(b.Block.Items) == 0 {
			continue
		}
		title := fmt.Sprintf("%d: %s, %s, %s tokens", b.Block.Position, shorten(b.Block.What()), words(b.Block.Layer), spaced(*b.Block.Tokens))
		if note := shorten(b.Block.Note(spaced)); note != "" {
			title += ", " + note
		}
		list = append(list, BlockHit{b.X, b.Width, item(b.Block.Items[0]), title})
	}
	return list
}

func size(b windowview.Block) int64 {
	if b.Tokens == nil {
		return -1
	}
	return *b.Tokens
}

func (v Call) subtitle() string {
	var parts []string
	if v.Window.Billed != nil {
		parts = append(parts, spaced(*v.Window.Billed)+" tokens billed, in the order that the model saw them")
	} else {
		parts = append(parts, spaced(v.Strip.Total)+" tokens estimated, in the order that the model saw them")
	}
	if v.Corrected != nil && v.CorrectedError != nil {
		parts = append(parts, spaced(*v.Corrected)+" by the corrected estimate, "+windowview.Off(*v.CorrectedError))
	}
	blocks := v.Window.ForModel()
	parts = append(parts, plural(len(blocks), "block"))
	fresh, known := 0, false
	for _, b := range blocks {
		if b.New != nil {
			known = true
			if *b.New {
				fresh++
			}
		}
	}
	if known {
		parts = append(parts, fmt.Sprintf("%d new", fresh))
	}
	if v.Strip.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d of unknown size", v.Strip.Unknown))
	}
	if v.Cost != nil {
		parts = append(parts, callCost(v.Call))
	}
	return strings.Join(parts, " · ")
}
