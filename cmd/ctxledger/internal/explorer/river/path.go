package river

import "strings"

// path collects rectangles as the data of one SVG path.
type path struct{ b strings.Builder }

func (p *path) rectangle(x, y, width, height float64) {
	if width <= 0 || height <= 0 {
		return
	}
	p.b.WriteString("M" + number(x) + " " + number(y) + "h" + number(width) + "v" + number(height) + "h" + number(-width) + "z")
}

func (p *path) String() string { return p.b.String() }

// Shape is a path of one class: all bands of a layer, or of a bucket.
type Shape struct {
	Class string
	Path  string
}
