package windowview

import (
	"slices"
	"strings"
)

// Unexplained is the layer of the billed tokens that no block holds.
const Unexplained = "unexplained"

// NothingKnown names the bill of a window without a recorded block.
const NothingKnown = "no block is recorded"

// Segment is one part of the bar of a window: a layer of its blocks, or the rest of the bill.
type Segment struct {
	Layer   string `json:"layer"`
	Name    string `json:"name"`   // for people
	Tokens  int64  `json:"tokens"` // estimated. Of the layer [Unexplained] billed − estimated, negative if the estimate is larger
	Items   int    `json:"items"`
	Unknown int    `json:"unknown_items"` // items of unknown size
}

// Segments returns the sums by layer over the blocks for the model, in the order of each layer's
// first block. With a bill and a block, the rest of the bill is a segment of its own, the first one:
// the segments add up to the bill. No estimate is scaled.
func (w Window) Segments() (segments []Segment) {
	blocks := w.ForModel()
	layers := make([]string, 0, len(blocks))
	var sum int64
	unsized := false
	for _, b := range blocks {
		i := slices.Index(layers, b.Layer)
		if i < 0 {
			i = len(layers)
			layers = append(layers, b.Layer)
			segments = append(segments, Segment{Layer: b.Layer, Name: b.Layer})
		}
		segments[i].Items++
		if b.Tokens == nil {
			segments[i].Unknown++
			unsized = true
		}
		segments[i].Tokens += deref(b.Tokens)
		sum += deref(b.Tokens)
	}
	if w.Billed == nil || len(blocks) == 0 || *w.Billed == sum {
		return segments
	}
	rest := Segment{Layer: Unexplained, Name: RestName(layers, *w.Billed < sum, unsized), Tokens: *w.Billed - sum}
	return slices.Insert(segments, 0, rest)
}

// ForModel returns the blocks that the model saw. A tool of the call has a window of its own.
func (w Window) ForModel() []Block {
	return slices.DeleteFunc(slices.Clone(w.Blocks), func(b Block) bool { return b.Target != "" && b.Target != "model" })
}

// RestName names what is billed and that none of the recorded layers explains. The largest such part
// is the one that the log does not have: the system prompt, the tool definitions, or both. Blocks of
// unknown size are a part of it, too.
func RestName(layers []string, negative, unsized bool) string {
	if negative {
		return "estimated too high"
	}
	var parts []string
	system := slices.Contains(layers, "system") || slices.Contains(layers, "developer")
	tools := slices.Contains(layers, "tools")
	switch {
	case !system && !tools:
		parts = append(parts, "system prompt and tools, not in the log")
	case !tools:
		parts = append(parts, "tool definitions, not in the log")
	case !system:
		parts = append(parts, "system prompt, not in the log")
	}
	if unsized {
		parts = append(parts, "blocks of unknown size")
	}
	if len(parts) == 0 {
		return "not explained"
	}
	return strings.Join(parts, ", and ")
}
