package river

// The measures of a plot.
const (
	PlotHeight = 180.0
	BeamHeight = 16.0
	beamStep   = 24.0
	mostBeams  = 30
	beamLength = 640.0
)

// Part is a part of a column or a beam.
type Part struct {
	Class string
	Value float64
}

// Plot is a drawing of one number of many rows: columns side by side, in their order.
type Plot struct {
	Shapes []Shape
	Grid   []Tick // of the values
	Labels []Tick // of the columns
	Places []PlotPlace
	Height float64
}

// PlotPlace is the place of a column that a pointer can hit.
type PlotPlace struct {
	X, Width float64
	Title    string
}

// DrawColumns returns columns of stacked parts. A label is left out if it would be on another, or is
// the same as the one before.
func DrawColumns(columns [][]Part, labels, titles []string) Plot {
	p := Plot{Height: PlotHeight + 20}
	top := 0.0
	for _, parts := range columns {
		height := 0.0
		for _, part := range parts {
			height += part.Value
		}
		top = max(top, height)
	}
	scale := top * 1.04
	for _, v := range ticks(int64(scale), 4) {
		if top >= 4 { // smaller values have no round numbers between them
			p.Grid = append(p.Grid, Tick{PlotHeight * (1 - float64(v)/scale), Short(v)})
		}
	}
	_, step, space := steps(len(columns), 0)
	if step == widestColumn {
		step = min(Width/float64(len(columns)), 2*widestColumn)
	}
	shapes, order := make(map[string]*path), []string(nil)
	last := -1e9
	for i, parts := range columns {
		x, y := float64(i)*step, PlotHeight
		for _, part := range parts {
			if shapes[part.Class] == nil {
				shapes[part.Class] = new(path)
				order = append(order, part.Class)
			}
			height := PlotHeight * part.Value / max(scale, 1e-12)
			y -= height
			shapes[part.Class].rectangle(x, y, step-space, height)
		}
		p.Places = append(p.Places, PlotPlace{x, step, titles[i]})
		n := len(p.Labels)
		if x-last > 30 && x+textWidth(labels[i]) < Width+4 && (n == 0 || p.Labels[n-1].Text != labels[i]) {
			p.Labels = append(p.Labels, Tick{x, labels[i]})
			last = x + textWidth(labels[i])
		}
	}
	for _, class := range order {
		p.Shapes = append(p.Shapes, Shape{class, shapes[class].String()})
	}
	return p
}

// Beam is a row as a horizontal bar, with its label on the left and its value on the right.
type Beam struct {
	Label, Text string
	Class       string
	Y, Width    float64
}

// DrawBeams returns the first rows as beams, and the height of the drawing.
func DrawBeams(values []float64, labels, texts, classes []string) (beams []Beam, height float64) {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	for i, v := range values[:min(len(values), mostBeams)] {
		beams = append(beams, Beam{labels[i], texts[i], classes[i], float64(i) * beamStep, beamLength * v / max(top, 1e-12)})
	}
	return beams, float64(len(beams)) * beamStep
}
