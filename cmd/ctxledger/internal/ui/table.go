package ui

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A Table is rows under headings, fitted into a width. The zero value has no
// columns.
type Table struct {
	Columns []Column
	Rows    [][]string // as many cells as there are columns
	Paint   []func(string) string
}

// A Column is a column of a [Table].
type Column struct {
	Name  string
	Right bool // aligned to the right: a number
	// Least makes the column flexible: it is made narrower, down to that many
	// characters, where the table is too wide. 0 is never made narrower.
	Least int
	// Wrap continues a long text on further lines instead of cutting the text. Only
	// the last column can wrap. Line breaks of the text stay.
	Wrap bool
	// Title cuts the first line of a wrapped text, and wraps only the lines below.
	Title bool
}

const gap = 2

// Write writes the table with each line at most width columns of a terminal wide. The
// widest of the flexible columns gives first; in a very narrow terminal all give. A table
// without headings has no line of them. Paint, where it is not nil, has a
// function for each row that colours its lines; nil leaves one as it is.
func (t Table) Write(w io.Writer, width int, indent string) error {
	widths := t.fit(width - cells(indent))
	write := func(row []string, paint func(string) string) error {
		for _, line := range t.lines(row, widths) {
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
		for _, head := range t.headings(widths) {
			if err := write(head, nil); err != nil {
				return err
			}
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

// lines returns the lines of a row. A wrapped last column needs several.
func (t Table) lines(row []string, widths []int) []string {
	var b strings.Builder
	last := len(t.Columns) - 1
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if i == last && c.Wrap {
			break
		}
		text := Shorten(row[i], widths[i])
		pad := strings.Repeat(" ", widths[i]-cells(text))
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
	before := strings.Repeat(" ", cells(b.String()))
	var lines []string
	for i, paragraph := range strings.Split(row[last], "\n") {
		if i == 0 && t.Columns[last].Title {
			lines = append(lines, before+Shorten(paragraph, widths[last]))
			continue
		}
		for line := range strings.SplitSeq(Wrap(Safe(paragraph), widths[last], 0, ""), "\n") {
			lines = append(lines, before+line)
		}
	}
	lines[0] = b.String() + strings.TrimPrefix(lines[0], before)
	return lines
}

// headingWords splits a heading, which may take a line for each word.
func headingWords(name string) (words []string, separator string) {
	separator = "_"
	if strings.Contains(name, " ") {
		separator = " "
	}
	return strings.Split(name, separator), separator
}

// natural returns the width that each column would take.
func (t Table) natural() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		words, _ := headingWords(c.Name)
		for _, word := range words {
			widths[i] = max(widths[i], cells(word))
		}
		for _, row := range t.Rows {
			for line := range strings.SplitSeq(row[i], "\n") {
				widths[i] = max(widths[i], cells(Safe(line)))
			}
		}
	}
	return widths
}

// fit returns the width of each column. Headings stay on one line where there is room.
func (t Table) fit(width int) []int {
	widths := t.natural()
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for i, c := range t.Columns {
		if more := cells(c.Name) - widths[i]; more > 0 && total+more <= width {
			widths[i] += more
			total += more
		}
	}
	narrow := func(least func(Column) int) {
		for ; total > width; total-- {
			widest := -1
			for i, c := range t.Columns {
				if widths[i] > least(c) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			widths[widest]--
		}
	}
	narrow(func(c Column) int {
		if c.Least == 0 {
			return math.MaxInt
		}
		return c.Least
	})
	// A very narrow terminal: texts give before numbers.
	narrow(func(c Column) int {
		if c.Right {
			return math.MaxInt
		}
		return 4
	})
	narrow(func(Column) int { return 1 })
	return widths
}

// headings are the lines of the heading: one, or more where a name is too long for its column.
func (t Table) headings(widths []int) (lines [][]string) {
	for i, c := range t.Columns {
		var parts []string
		words, separator := headingWords(c.Name)
		for _, word := range words {
			if n := len(parts); n > 0 && cells(parts[n-1])+1+cells(word) <= widths[i] {
				parts[n-1] += separator + word
			} else {
				parts = append(parts, word)
			}
		}
		for j, part := range parts {
			if j == len(lines) {
				lines = append(lines, make([]string, len(t.Columns)))
			}
			lines[j][i] = part
		}
	}
	return lines
}
