package ui

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Thousands writes n with commas: 12,345.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Numbers is how numbers are written: with commas by [Thousands], or as pages write them.
type Numbers func(int64) string

// Known writes a question mark for a number that is not known.
func (w Numbers) Known(n *int64) string {
	if n == nil {
		return "?"
	}
	return w(*n)
}

// Plural writes a number with its noun.
func (w Numbers) Plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return w(n) + " " + one + "s"
}

// Known is Thousands, and a question mark for a number that is not known.
func Known(n *int64) string { return Numbers(Thousands).Known(n) }

// Plural writes a number with its noun: 1 block, 2 blocks.
func Plural[N int | int64 | uint64](n N, one string) string {
	return Numbers(Thousands).Plural(int64(n), one)
}

// Line writes one line, made [Safe]: no text from outside can begin another.
func Line(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintln(w, Safe(fmt.Sprintf(format, args...)))
	return err
}

// firstColumn is the indent of a line and its first column, where two spaces end one.
var firstColumn = regexp.MustCompile(`^ *(?:\S+(?: \S+)* {2,})*`)

// Fit wraps the lines of a text that are wider than width. A wrapped line continues below
// its last column.
func Fit(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if cells(line) <= width {
			continue
		}
		head := firstColumn.FindString(line)
		if cells(head) > width*2/3 {
			head = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		indent := strings.Repeat(" ", cells(head))
		lines[i] = head + Wrap(line[len(head):], width, cells(head), indent)
	}
	return strings.Join(lines, "\n")
}

// Reflow wraps the paragraphs of a text anew. Indented lines, such as lists, stay lines
// and are wrapped as by [Fit].
func Reflow(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, Wrap(strings.Join(paragraph, " "), width, 0, ""))
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, Fit(line, width))
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// Indented indents each line but the first: text from outside cannot pass for a line of
// the program.
func Indented(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// Shorten makes s [Safe] and cuts it to n columns of a terminal, with an ellipsis for the
// last of them where something is lost.
func Shorten(s string, n int) string {
	s = Safe(s)
	switch {
	case cells(s) <= n:
		return s
	case n < 1:
		return ""
	}
	return widths.Truncate(s, n, "…")
}

// Wrap breaks text, made [Safe], at spaces into lines of at most width columns. The first
// line follows start columns that are on it already; each other line begins with the
// indent. A word that is longer than a line is broken.
func Wrap(text string, width, start int, indent string) string {
	var b strings.Builder
	used, margin := start, cells(indent)
	for i, word := range strings.Fields(Safe(text)) {
		switch {
		case i == 0:
		case used+1+cells(word) > width:
			b.WriteString("\n" + indent)
			used = margin
		default:
			b.WriteByte(' ')
			used++
		}
		for used+cells(word) > width && width > margin {
			part := widths.Truncate(word, max(1, width-used), "")
			if part == "" {
				break
			}
			b.WriteString(part + "\n" + indent)
			word, used = strings.TrimPrefix(word, part), margin
		}
		b.WriteString(word)
		used += cells(word)
	}
	return b.String()
}
