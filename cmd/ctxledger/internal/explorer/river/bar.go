package river

import "slices"

// BarHeight is the height of a bar.
const BarHeight = 22.0

// Bar is the window of one call as a bar, by layer.
type Bar struct {
	Call   Call
	Width  float64
	Shapes []Shape
}

// DrawBars returns the windows of calls as bars of one scale, in units of a drawing that is as wide as
// the largest window.
func DrawBars(calls []Call, width float64) (bars []Bar) {
	var top int64 = 1
	for _, c := range calls {
		top = max(top, c.Top())
	}
	for _, c := range calls {
		b := Bar{Call: c, Width: width * float64(c.Top()) / float64(top)}
		x := 0.0
		for _, band := range c.Bands {
			var p path
			part := width * band.Drawn / float64(top)
			p.rectangle(x, 0, part, BarHeight)
			x += part
			b.Shapes = append(b.Shapes, Shape{"l-" + string(band.Layer), p.String()})
		}
		bars = append(bars, b)
	}
	return bars
}

// Around returns the last call of the cut's thread before it and the first one after it. ok is false if
// one of them is not drawn.
func (r River) Around(cut Cut) (before, after Call, ok bool) {
	for _, t := range r.Threads {
		i := slices.IndexFunc(t.Calls, func(c Call) bool { return c.Number == cut.Next })
		if i > 0 {
			return t.Calls[i-1], t.Calls[i], true
		}
	}
	return before, after, false
}
