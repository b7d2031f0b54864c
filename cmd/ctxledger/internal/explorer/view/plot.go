package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/queries"
)

// Plot is the chart of an answer: columns over time or over calls, or beams by name.
type Plot struct {
	Title  string // the number that is drawn, and over what
	Note   string // which rows are drawn, if not all
	Plot   river.Plot
	Beams  []river.Beam
	Height float64
	Keys   []river.Key
}

// plotted are the units that a chart shows, the most telling first.
var plotted = []string{"tokens", "currency", "bytes", "seconds", "ratio", "count"}

// fewest is the number of rows from which an answer has a chart.
const fewest = 2

// PlotOf returns the chart that fits the answer to a query, nil if none does. Rows in the order of
// their times or calls become columns, with a band for each layer if the answer has layers. Other
// rows become beams.
func PlotOf(q queries.Query, rows []answer.Row) *Plot {
	columns := inOrder(q)
	value, ok := valueOf(columns, rows)
	if !ok || len(rows) < fewest {
		return nil
	}
	p := plotter{rows: rows, value: value, layered: slices.ContainsFunc(columns, func(c queries.Column) bool { return c.Name == "layer" })}
	if along, rows, ok := p.along(columns); ok {
		out := plotter{rows, p.value, p.layered}.columns(along)
		if len(rows) < len(p.rows) {
			out.Note = plural(len(p.rows)-len(rows), "row") + " without a time left out"
		}
		return out
	}
	return p.beams(columns)
}

// inOrder returns the columns of a query, the ones that it names first before the others.
func inOrder(q queries.Query) []queries.Column {
	columns := slices.Clone(q.Columns)
	rank := func(c queries.Column) int {
		if i := slices.Index(q.First, c.Name); i >= 0 {
			return i
		}
		return len(q.First)
	}
	slices.SortStableFunc(columns, func(a, b queries.Column) int { return cmp.Compare(rank(a), rank(b)) })
	return columns
}

// valueOf returns the column to draw: a number that is never negative. The one by which the rows are
// ordered comes first.
func valueOf(columns []queries.Column, rows []answer.Row) (found queries.Column, ok bool) {
	for _, unit := range plotted {
		for _, c := range columns {
			if c.Unit != unit {
				continue
			}
			least, most, falls := 0.0, 0.0, len(rows) > fewest
			for i, row := range rows {
				v := figure(row, c.Name)
				least, most = min(least, v), max(most, v)
				falls = falls && (i == 0 || v <= figure(rows[i-1], c.Name))
			}
			if falls && least >= 0 && most > figure(rows[len(rows)-1], c.Name) {
				return c, true
			}
			if !ok && least >= 0 && most > 0 {
				found, ok = c, true
			}
		}
	}
	return found, ok
}

// figure returns a number of a row, 0 if it is not known: nothing is drawn for it.
func figure(row answer.Row, column string) float64 {
	if n := row.Number(column); n != nil {
		return float64(*n)
	}
	if f := row.Float(column); f != nil {
		return *f
	}
	return 0
}

// plotter draws one number of an answer.
type plotter struct {
	rows    []answer.Row
	value   queries.Column
	layered bool
}

// along returns the column that orders the rows: times that only grow, or calls. Rows without a time
// are left out.
func (p plotter) along(columns []queries.Column) (queries.Column, []answer.Row, bool) {
	for _, c := range columns {
		if c.Unit != "time" && c.Name != "call_id" {
			continue
		}
		distinct, sorted, rows := make(map[string]bool), true, p.rows
		if c.Unit == "time" {
			rows = slices.DeleteFunc(slices.Clone(rows), func(row answer.Row) bool { return !ui.IsTime(row.Moment(c.Name)) })
			sorted = slices.IsSortedFunc(rows, func(a, b answer.Row) int { return a.Moment(c.Name).Compare(b.Moment(c.Name)) })
		}
		for _, row := range rows {
			distinct[row.Text(c.Name)] = true
		}
		if sorted && len(distinct) >= 4 && (len(distinct) == len(rows) || p.layered) {
			return c, rows, true
		}
	}
	return queries.Column{}, nil, false
}

// class returns the class of a row.
func (p plotter) class(row answer.Row) string {
	if p.layered {
		return "l-" + string(river.LayerOf(row.Text("layer")))
	}
	return "p-value"
}

// write writes a value with its unit.
func (p plotter) write(v float64) string {
	switch p.value.Unit {
	case "ratio":
		return fmt.Sprintf("%.1f"+thin+"%%", 100*v)
	case "currency":
		return money(v, "")
	case "seconds":
		return fmt.Sprintf("%.3g"+thin+"s", v)
	case "bytes":
		return spaced(int64(v)) + " bytes"
	}
	return spaced(int64(v))
}

func (p plotter) title(along string) string {
	return strings.ReplaceAll(p.value.Name, "_", " ") + " by " + strings.ReplaceAll(strings.TrimSuffix(along, "_id"), "_", " ")
}

// columns draws the rows in their order. Rows of the same time or call are one column.
func (p plotter) columns(along queries.Column) *Plot {
	var parts [][]river.Part
	var labels, titles []string
	first, last := p.rows[0].Moment(along.Name), p.rows[len(p.rows)-1].Moment(along.Name)
	names := make(map[river.Layer][]string)
	previous := ""
	for i, row := range p.rows {
		v := figure(row, p.value.Name)
		if layer := row.Text("layer"); p.layered && v > 0 {
			l := river.LayerOf(layer)
			if !slices.Contains(names[l], words(layer)) {
				names[l] = append(names[l], words(layer))
			}
		}
		at := row.Text(along.Name)
		if i > 0 && at == previous {
			n := len(parts) - 1
			parts[n] = append(parts[n], river.Part{Class: p.class(row), Value: v})
			titles[n] += ", " + words(row.Text("layer")) + " " + p.write(v)
			continue
		}
		previous = at
		parts = append(parts, []river.Part{{Class: p.class(row), Value: v}})
		label := shorten(at)
		if along.Unit == "time" {
			label = moment(row.Moment(along.Name), last.Sub(first))
		} else {
			label = fmt.Sprint(len(parts))
		}
		labels = append(labels, label)
		title := shorten(at) + ": "
		if along.Unit == "time" {
			title = stamp(row.Moment(along.Name)) + ": "
		}
		if p.layered {
			title += words(row.Text("layer")) + " "
		}
		titles = append(titles, title+p.write(v))
	}
	out := &Plot{Title: p.title(along.Name), Plot: river.DrawColumns(parts, labels, titles)}
	out.Height = out.Plot.Height
	for _, l := range slices.Backward(river.Layers) {
		if len(names[l]) > 0 {
			slices.Sort(names[l])
			out.Keys = append(out.Keys, river.Key{Layer: l, Name: strings.Join(names[l], ", ")})
		}
	}
	return out
}

// moment writes a time for an axis that spans a duration.
func moment(t time.Time, span time.Duration) string {
	switch {
	case span > 36*time.Hour:
		return t.UTC().Format("2 Jan")
	case span > 10*time.Minute:
		return t.UTC().Format("15:04")
	}
	return t.UTC().Format("15:04:05")
}

// beams draws the first rows as beams with their names, nil if no column names them.
func (p plotter) beams(columns []queries.Column) *Plot {
	for _, c := range columns {
		if c.Unit != "id" && c.Unit != "text" || c.Name == "tenant" {
			continue
		}
		distinct := make(map[string]bool)
		var labels, texts, classes []string
		var values []float64
		for _, row := range p.rows {
			label, v := row.Text(c.Name), figure(row, p.value.Name)
			distinct[label] = true
			labels, values = append(labels, ui.Shorten(label, 36)), append(values, v)
			text := p.write(v)
			if row[p.value.Name] == nil {
				text = "?"
			}
			texts, classes = append(texts, text), append(classes, p.class(row))
		}
		if len(distinct) < fewest {
			continue
		}
		out := &Plot{Title: p.title(c.Name)}
		out.Beams, out.Height = river.DrawBeams(values, labels, texts, classes)
		if len(out.Beams) < len(p.rows) {
			out.Note = fmt.Sprintf("the first %d of %s", len(out.Beams), plural(len(p.rows), "row"))
		}
		return out
	}
	return nil
}
