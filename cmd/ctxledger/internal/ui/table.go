package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Table is rows under headings, fitted into a width. The zero value has no
// columns.
type Table struct {
	Columns []Column
	Rows    [][]string // as many cells as there are columns
	Paint   []func(string) string
}

// A Column says how a column of a [Table] is written.
type Column struct {
	Name  string
	Right bool // aligned to the right: a number
	// Least makes the column flexible: it is made narrower, down to that many
	// characters, where the table is too wide. 0 is never made narrower.
	Least int
	// Wrap writes what does not fit below, in lines of its own, instead of cutting
	// it. Only the last column can; a line break in its text is one there too.
	Wrap bool
	// Title cuts the first line of a text all the same, and wraps only those below.
	Title bool
}

const gap = 2

// Write writes the table with each line at most width characters wide, as far as
// the flexible columns and single words allow. The widest of them gives first. A
// table without headings has no line of them. Paint, where it is not nil, has a
// function for each row that colours its lines; nil leaves one as it is.
func (t Table) Write(w io.Writer, width int, indent string) error {
	widths := t.fit(width - utf8.RuneCountInString(indent))
	write := func(cells []string, paint func(string) string) error {
		for _, line := range t.lines(cells, widths) {
			line = strings.TrimRight(indent+line, " ")
			if paint != nil {
				line = paint(line)
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	}
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name != "" }) {
		head := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			head[i] = c.Name
		}
		if err := write(head, nil); err != nil {
			return err
		}
	}
	for i, row := range t.Rows {
		var paint func(string) string
		if i < len(t.Paint) {
			paint = t.Paint[i]
		}
		if err := write(row, paint); err != nil {
			return err
		}
	}
	return nil
}

// lines are those of one row: one, and more where the last column wraps.
func (t Table) lines(cells []string, widths []int) []string {
	var b strings.Builder
	last := len(t.Columns) - 1
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if i == last && c.Wrap {
			break
		}
		text := Shorten(cells[i], widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if c.Right {
			text = pad + text
		} else {
			text += pad
		}
		b.WriteString(text)
	}
	if last < 0 || !t.Columns[last].Wrap {
		return []string{b.String()}
	}
	before := strings.Repeat(" ", utf8.RuneCountInString(b.String()))
	var lines []string
	for i, paragraph := range strings.Split(cells[last], "\n") {
		if i == 0 && t.Columns[last].Title {
			lines = append(lines, before+Shorten(paragraph, widths[last]))
			continue
		}
		for line := range strings.SplitSeq(Wrap(Shorten(paragraph, utf8.RuneCountInString(paragraph)), widths[last], 0, ""), "\n") {
			lines = append(lines, before+line)
		}
	}
	lines[0] = b.String() + strings.TrimPrefix(lines[0], before)
	return lines
}

// fit returns the width of each column.
func (t Table) fit(width int) []int {
	widths := make([]int, len(t.Columns))
	total := gap * (len(widths) - 1)
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range t.Rows {
			for line := range strings.SplitSeq(row[i], "\n") {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := -1
		for i, c := range t.Columns {
			if c.Least > 0 && widths[i] > c.Least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}
