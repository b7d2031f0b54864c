package river

import (
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// StripHeight is the height of the blocks of a strip.
const StripHeight = 40.0

// StripBlock is one block of a window in a strip.
type StripBlock struct {
	X, Width float64
	Layer    Layer
	Block    windowview.Block
}

// Strip is a window with its blocks side by side in the order of the model. The width of a block
// is its share of the bill, or of the estimate of a window without a bill.
type Strip struct {
	Blocks     []StripBlock
	Shapes     []Shape
	RestName   string  // of the difference between bill and estimate, empty if there is none
	Difference int64   // billed − estimated, 0 without a bill
	Rest       float64 // width of the unexplained part
	Cache      float64 // where the part that the cache held ends
	CacheRead  int64   // tokens that the cache held; 0 if unknown
	Hatched    string  // path of shortened blocks
	Masked     string  // path of withheld blocks
	Fresh      string  // path of new blocks
	Unknown    int     // blocks of unknown size, which have no width
	Total      int64   // tokens of the whole width
}

// DrawStrip returns the strip of a window for the model.
func DrawStrip(w windowview.Window) Strip {
	var s Strip
	blocks := w.ForModel()
	var held int64
	for _, b := range blocks {
		if b.Tokens == nil {
			s.Unknown++
			continue
		}
		held += max(0, *b.Tokens)
	}
	s.Total = held
	if w.Billed != nil && *w.Billed > 0 {
		s.Total, s.Difference = *w.Billed, *w.Billed-held
		s.RestName = windowview.NothingKnown
	}
	if segments := w.Segments(); len(segments) > 0 && segments[0].Layer == windowview.Unexplained {
		s.RestName = segments[0].Name
	}
	if s.Total == 0 {
		return s
	}
	unit := Width / float64(max(s.Total, held))
	s.Rest = float64(max(0, s.Difference)) * unit
	shapes := make(map[Layer]*path)
	var hatched, masked, fresh path
	x := s.Rest
	for _, b := range blocks {
		if b.Tokens == nil || *b.Tokens <= 0 {
			continue
		}
		width := float64(*b.Tokens) * unit
		l := LayerOf(b.Layer)
		s.Blocks = append(s.Blocks, StripBlock{x, width, l, b})
		if shapes[l] == nil {
			shapes[l] = new(path)
		}
		space := 0.0
		if width > 2 {
			space = 0.5
		}
		shapes[l].rectangle(x, 0, width-space, StripHeight)
		if b.Elided || b.Shortened != "" {
			hatched.rectangle(x, 0, width-space, StripHeight)
		}
		if IsWithheld(b) {
			masked.rectangle(x, 0, width-space, StripHeight)
		}
		if b.New != nil && *b.New {
			fresh.rectangle(x, StripHeight+2, max(1, width-space), 3)
		}
		x += width
	}
	for _, l := range Layers {
		if p := shapes[l]; p != nil {
			s.Shapes = append(s.Shapes, Shape{"l-" + string(l), p.String()})
		}
	}
	s.Hatched, s.Masked, s.Fresh = hatched.String(), masked.String(), fresh.String()
	if w.CacheRead != nil && *w.CacheRead > 0 && w.Billed != nil {
		s.CacheRead, s.Cache = *w.CacheRead, min(Width, float64(*w.CacheRead)*Width/float64(max(s.Total, *w.CacheRead)))
	}
	return s
}

// IsWithheld reports whether a part of the block is hidden by a redaction.
func IsWithheld(b windowview.Block) bool { return b.Redaction != "" && b.Redaction != "none" }
