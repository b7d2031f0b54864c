package river

import (
	"fmt"
	"time"
)

// The measures of a chart, in its units.
const (
	MainHeight  = 230.0 // of the columns of the first thread
	SmallHeight = 90.0  // of the columns of the other threads
	mostColumns = 590   // more calls share columns, each of which shows its largest call
)

// Column is the place of one or more calls in a chart.
type Column struct {
	X, Width, Top float64
	Call          Call // the largest call of the column
	Last          int  // number of the last call of the column
}

// CutMark is a compaction in a chart. The label is empty if there is no room for it.
type CutMark struct {
	X         float64
	Text      string
	FromRight bool // the label is on the left side
	Cut       Cut
}

// MarkRow is one kind of marks below the axis.
type MarkRow struct {
	Name, Class string
	Y           float64
	Path        string
}

// Chart is the drawing of one thread.
type Chart struct {
	Thread    Thread
	Columns   []Column
	Bands     []Shape
	Grid      []Tick
	Times     []Tick
	Limit     *Tick  // the model's limit, nil if unknown or far above the chart
	Threshold *Tick  // the size above which the runtime shortens the window, nil if unknown or above the chart
	FarLimit  *int64 // a limit far above the chart
	Estimate  string // path of the estimate where it leaves the bill
	Corrected string // path of the corrected estimates
	Cuts      []CutMark
	Marks     []MarkRow
	Base      float64 // height of the columns
	Height    float64 // with the marks below the axis
}

// Draw returns the chart of a thread, whose columns are as high as given and begin at x. If there is
// little room on the right of x, they begin earlier.
func (t Thread) Draw(height, x float64) Chart {
	ch := Chart{Thread: t, Base: height}
	groups := group(t.Calls, mostColumns)
	var top, limit, threshold int64
	for _, c := range t.Calls {
		top = max(top, c.Top(), c.estimate(), c.corrected())
		if c.Limit != nil {
			limit = max(limit, *c.Limit)
		}
		if c.Threshold != nil {
			threshold = *c.Threshold
		}
	}
	scale := top
	switch {
	case limit > 0 && limit <= 3*top:
		scale = max(top, limit)
	case limit > 0:
		ch.FarLimit = new(limit)
		limit = 0
	}
	scale = max(1, scale+scale/25)
	y := func(tokens float64) float64 { return height * (1 - tokens/float64(scale)) }
	for _, v := range ticks(scale, max(2, int(height/45))) {
		if limit == 0 || v == 0 || abs(y(float64(v))-y(float64(limit))) > 14 {
			ch.Grid = append(ch.Grid, Tick{y(float64(v)), Short(v)})
		}
	}
	if limit > 0 {
		ch.Limit = &Tick{y(float64(limit)), "model limit " + Short(limit)}
	}
	if threshold > 0 && threshold <= scale && threshold != limit {
		ch.Threshold = &Tick{y(float64(threshold)), "shortened from " + Short(threshold)}
	}
	addColumns(&ch, groups, x, y)
	addTimes(&ch)
	addCuts(&ch)
	addMarks(&ch, groups)
	return ch
}

// estimate is the estimated size of a window that is larger than its bill by more than 2 %, else 0.
func (c Call) estimate() int64 {
	if c.Billed == nil || c.layered <= *c.Billed+*c.Billed/50 {
		return 0
	}
	return c.layered
}

// corrected is the corrected estimate, 0 if there is none.
func (c Call) corrected() int64 {
	if c.Corrected == nil {
		return 0
	}
	return max(0, *c.Corrected)
}

func abs(v float64) float64 { return max(v, -v) }

// group puts calls into at most most groups of neighbours.
func group(calls []Call, most int) (groups [][]Call) {
	each := max(1, (len(calls)+most-1)/most)
	for len(calls) > 0 {
		n := min(each, len(calls))
		groups = append(groups, calls[:n])
		calls = calls[n:]
	}
	return groups
}

// largest returns the call with the highest column.
func largest(calls []Call) Call {
	best := calls[0]
	for _, c := range calls[1:] {
		if c.Top() > best.Top() {
			best = c
		}
	}
	return best
}

// widestColumn and leastColumn are the limits of the width of a column that begins under another call.
const (
	widestColumn = 48.0
	leastColumn  = 10.0
)

// steps returns where n columns begin, their distance and the space between two.
func steps(n int, x float64) (begin, step, space float64) {
	n = max(1, n)
	begin = max(0, min(x, Width-float64(n)*leastColumn))
	step = min((Width-begin)/float64(n), widestColumn)
	if step < 4 {
		return begin, step, 0.2
	}
	return begin, step, 0.6
}

func addColumns(ch *Chart, groups [][]Call, x float64, y func(float64) float64) {
	begin, step, space := steps(len(groups), x)
	shapes := make(map[Layer]*path)
	var estimate, corrected path
	for i, calls := range groups {
		c := largest(calls)
		x, width := begin+float64(i)*step, step-space
		var base float64
		if len(c.Bands) == 0 {
			c.Bands = []Band{{Unexplained, c.Top(), float64(c.Top())}}
		}
		for _, b := range c.Bands {
			if shapes[b.Layer] == nil {
				shapes[b.Layer] = new(path)
			}
			high, low := y(base+b.Drawn), y(base)
			shapes[b.Layer].rectangle(x, high, width, low-high)
			base += b.Drawn
		}
		if e := c.estimate(); e > 0 {
			estimate.rectangle(x, y(float64(e)), width, 1.2)
		}
		if e := c.corrected(); e > 0 {
			corrected.rectangle(x, y(float64(e)), width, 1.2)
		}
		ch.Columns = append(ch.Columns, Column{X: x, Width: step, Top: y(base), Call: c, Last: calls[len(calls)-1].Number})
	}
	ch.Estimate, ch.Corrected = estimate.String(), corrected.String()
	for _, l := range Layers {
		if s := shapes[l]; s != nil {
			ch.Bands = append(ch.Bands, Shape{"l-" + string(l), s.String()})
		}
	}
}

// addTimes labels the horizontal axis: with times, or with the numbers of calls that share a minute.
func addTimes(ch *Chart) {
	const apart = 90
	last := -float64(apart)
	format := "15:04"
	calls := ch.Thread.Calls
	if calls[len(calls)-1].At.Sub(calls[0].At) < 10*time.Minute {
		format = ""
	} else if calls[len(calls)-1].At.Sub(calls[0].At) > 36*time.Hour {
		format = "2 Jan 15:04"
	}
	for _, c := range ch.Columns {
		if c.X-last < apart || c.X > Width-60 && last >= 0 {
			continue
		}
		text := fmt.Sprintf("call %d", c.Call.Number)
		if format != "" {
			text = c.Call.At.UTC().Format(format)
		}
		if n := len(ch.Times); n == 0 || ch.Times[n-1].Text != text {
			ch.Times = append(ch.Times, Tick{c.X, text})
			last = c.X
		}
	}
}

// addCuts places the compactions. A label ends before the next compaction: it is the shorter text if
// the longer one does not fit, and none if that does not fit either.
func addCuts(ch *Chart) {
	for _, cut := range ch.Thread.Cuts {
		if cut.IsCompaction() && cut.Next > 0 {
			ch.Cuts = append(ch.Cuts, CutMark{X: ch.At(cut.Next), Cut: cut})
		}
	}
	previous := 0.0
	for i := range ch.Cuts {
		m := &ch.Cuts[i]
		room := Width + 20 - m.X
		if i+1 < len(ch.Cuts) {
			room = ch.Cuts[i+1].X - m.X
		}
		sizes := known(m.Cut.Before) + " → " + known(m.Cut.After)
		for _, text := range []string{"Compacted " + sizes, sizes} {
			if textWidth(text)+8 <= room {
				m.Text = text
			} else if i+1 == len(ch.Cuts) && textWidth(text)+8 <= m.X-previous {
				m.Text, m.FromRight = text, true
			}
			if m.Text != "" {
				break
			}
		}
		previous = m.X
		if m.Text != "" && !m.FromRight {
			previous += textWidth(m.Text) + 8
		}
	}
}

func known(n *int64) string {
	if n == nil {
		return "?"
	}
	return Short(*n)
}

// At returns the left side of the column that holds the call.
func (ch Chart) At(number int) float64 {
	for _, c := range ch.Columns {
		if c.Last >= number {
			return c.X
		}
	}
	return Width
}

// addMarks draws a row of marks for each kind that occurs.
func addMarks(ch *Chart, groups [][]Call) {
	y := ch.Base + 24
	for _, kind := range []struct {
		name, class string
		of          func(Call) int
	}{
		{"shortened", "m-elided", func(c Call) int { return c.Elided }},
		{"withheld", "m-withheld", func(c Call) int { return c.Withheld }},
		{"gap", "m-gap", func(c Call) int { return c.Gaps }},
		{"child run", "m-child", func(c Call) int { return c.ChildRuns }},
	} {
		var p path
		for i, calls := range groups {
			n := 0
			for _, c := range calls {
				n += kind.of(c)
			}
			if n > 0 {
				column := ch.Columns[i]
				p.rectangle(column.X+column.Width/2-2.5, y, 5, 7)
			}
		}
		if drawn := p.String(); drawn != "" {
			ch.Marks = append(ch.Marks, MarkRow{kind.name, kind.class, y, drawn})
			y += 12
		}
	}
	if len(ch.Marks) > 0 {
		ch.Height = y
	} else {
		ch.Height = ch.Base + 20
	}
}
