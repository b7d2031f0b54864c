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
// is its share of the bill, or of the estimate of a window without a bill. Boxes after the window stand
// for what was left out.
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
	Ghosts     []Ghost
	Same       *float64 // where the part ends that another window has, too; nil if not marked

	unit float64 // width of a token
}

// Marked returns a strip with a mark at the end of the first blocks of so many tokens. Nil marks
// nothing.
func Marked(s Strip, tokens *int64) Strip {
	if tokens != nil && s.unit > 0 {
		s.Same = new(s.Rest + float64(*tokens)*s.unit)
	}
	return s
}

// Ghost is a box for candidates that were left out for one reason. A record does not say where in the
// window they would have been, so the boxes are at the end.
type Ghost struct {
	X, Width float64
	Items    int64
	Reason   string
}

// The measures of a ghost and of the space between the window and the ghosts.
const (
	ghostWidth = 34.0
	ghostSpace = 10.0
)

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
	room := Width
	if n := len(w.OmissionReasons); n > 0 {
		room -= ghostSpace + float64(n)*ghostWidth
		for i, o := range w.OmissionReasons {
			s.Ghosts = append(s.Ghosts, Ghost{room + ghostSpace + float64(i)*ghostWidth, ghostWidth - 4, o.Items, o.Reason})
		}
	}
	unit := room / float64(max(s.Total, held))
	s.unit = unit
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
		s.CacheRead, s.Cache = *w.CacheRead, min(room, float64(*w.CacheRead)*room/float64(max(s.Total, *w.CacheRead)))
	}
	return s
}

// IsWithheld reports whether a part of the block is hidden by a redaction.
func IsWithheld(b windowview.Block) bool { return b.Redaction != "" && b.Redaction != "none" }
