package ui

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// page is how many rows a table aligns at a time.
const page = 500

// widest is how many columns of a terminal a value of a table takes.
const widest = 60

// least is how narrow a text column becomes before columns are left out.
const least = 12

// The forms of times in a table with a width, and in a table that is too wide.
const (
	secondsForm = "2006-01-02 15:04:05"
	minutesForm = "2006-01-02 15:04"
)

// The least lengths of shortened ids: of random digits, and of others.
const (
	shortRandomID = 8
	shortID       = 16
)

// A sheet is one page of rows as text, column by column.
type sheet struct {
	columns []read.ResultColumn
	rows    [][]string
}

func writeTable(w io.Writer, r read.Rows, columns []read.ResultColumn, f Form) (n int, drawn Drawn, err error) {
	numbered := f.Terminal && slices.ContainsFunc(columns, func(c read.ResultColumn) bool { return isID(c.Name) })
	s := sheet{columns: columns}
	for r.Next() {
		n++
		row := make([]string, len(columns))
		ids := make(map[string]string)
		for i, value := range r.Values() {
			row[i] = tableCell(value, columns[i], f)
			if text, ok := value.(string); ok && text != "" && isID(columns[i].Name) {
				ids[columns[i].Name] = text
			}
		}
		s.rows = append(s.rows, row)
		drawn = append(drawn, ids)
		if len(s.rows) == page {
			if err := s.write(w, n-page, numbered, f); err != nil {
				return n, nil, err
			}
			s.rows = s.rows[:0]
		}
	}
	if len(s.rows) > 0 || n == 0 && f.Width == 0 {
		err = s.write(w, n-len(s.rows), numbered, f)
	}
	if !numbered {
		drawn = nil
	}
	if err != nil {
		return n, nil, err
	}
	return n, drawn, r.Err()
}

// isID reports whether a column holds ids that commands take.
func isID(name string) bool { return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ref") }

func isTime(columnType string) bool { return strings.Contains(columnType, "DateTime") }

// tableCell writes a value for a table.
func tableCell(value any, c read.ResultColumn, f Form) string {
	if at, ok := value.(time.Time); ok && f.Width > 0 {
		return at.UTC().Format(secondsForm)
	}
	if list, ok := value.([]string); ok && f.Width > 0 {
		return Shorten(strings.Join(list, ", "), widest)
	}
	text := Safe(cellText(value, "-", short))
	if f.Terminal && isNumber(c.Type) && !strings.HasSuffix(c.Name, "seq") {
		return separated(text)
	}
	if isID(c.Name) {
		return text
	}
	return Shorten(text, widest)
}

// separated writes commas into the whole part of a number.
func separated(number string) string {
	whole, rest, _ := strings.Cut(number, ".")
	if strings.Trim(whole, "-0123456789") != "" {
		return number
	}
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return whole + rest
}

// write writes a page whose first row has the number before+1. A page that is too wide
// prints values that all rows share once, and leaves out empty columns. If needed, texts
// get narrower, times lose their seconds, and the last columns are left out. A single row
// that is too wide becomes a list.
func (s sheet) write(w io.Writer, before int, numbered bool, f Form) error {
	if f.Width == 0 {
		return s.table(s.all(), before, numbered).Write(w, NoLimit, "")
	}
	s.shortenIDs()
	shown := s.all()
	if s.width(shown, numbered, false) <= f.Width {
		return s.table(shown, before, numbered).Write(w, f.Width, "")
	}
	if len(s.rows) == 1 {
		return s.list(w, before, f.Width)
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(s.rank(a, f.First), s.rank(b, f.First)) })
	var same, empty []int
	shown = slices.DeleteFunc(shown, func(c int) bool {
		if !s.constant(c) {
			return false
		}
		if v := s.rows[0][c]; v == "-" || v == "" {
			empty = append(empty, c)
		} else {
			same = append(same, c)
		}
		return true
	})
	if len(same) > 0 {
		var list []string
		for _, c := range same {
			list = append(list, Safe(s.columns[c].Name)+" "+s.rows[0][c])
		}
		if _, err := fmt.Fprintln(w, Wrap("in all rows: "+strings.Join(list, ", "), f.Width, 0, "  ")); err != nil {
			return err
		}
	}
	if s.width(shown, numbered, true) > f.Width {
		s.shortenTimes()
	}
	var left []int
	for len(shown) > 1 && s.width(shown, numbered, true) > f.Width {
		left = append(left, shown[len(shown)-1])
		shown = shown[:len(shown)-1]
	}
	slices.Reverse(left)
	if err := s.table(shown, before, numbered).Write(w, f.Width, ""); err != nil {
		return err
	}
	var notes []string
	if len(left) > 0 {
		notes = append(notes, fmt.Sprintf("too wide for %d columns: %s (--wide, or -o vertical)", f.Width, s.names(left)))
	}
	if len(empty) > 0 {
		notes = append(notes, "empty in all rows: "+s.names(empty))
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, Wrap(note, f.Width, 0, "  ")); err != nil {
			return err
		}
	}
	return nil
}

// rank is the place of a column among the first columns. All other columns rank last.
func (s sheet) rank(c int, first []string) int {
	if i := slices.Index(first, s.columns[c].Name); i >= 0 {
		return i
	}
	return len(first)
}

func (s sheet) all() []int {
	list := make([]int, len(s.columns))
	for i := range list {
		list[i] = i
	}
	return list
}

func (s sheet) names(columns []int) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = Safe(s.columns[c].Name)
	}
	return strings.Join(list, ", ")
}

func (s sheet) constant(c int) bool {
	return len(s.rows) > 0 && !slices.ContainsFunc(s.rows, func(row []string) bool { return row[c] != s.rows[0][c] })
}

// random are ids of hexadecimal digits, such as UUIDs.
var random = regexp.MustCompile(`^[0-9a-fA-F-]{20,}$`)

// shortenIDs cuts the ids of each column to a beginning that tells them apart in it.
func (s sheet) shortenIDs() {
	for c, column := range s.columns {
		if !isID(column.Name) {
			continue
		}
		ids := make([]string, 0, len(s.rows))
		for _, row := range s.rows {
			ids = append(ids, row[c])
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		unique := 0
		for i := 1; i < len(ids); i++ {
			unique = max(unique, commonPrefix(ids[i-1], ids[i])+1)
		}
		for _, row := range s.rows {
			row[c] = cutID(row[c], unique)
		}
	}
}

// shortenTimes leaves the seconds of times out.
func (s sheet) shortenTimes() {
	for c, column := range s.columns {
		if !isTime(column.Type) {
			continue
		}
		for _, row := range s.rows {
			if len(row[c]) == len(secondsForm) {
				row[c] = row[c][:len(minutesForm)]
			}
		}
	}
}

// cutID cuts an id to at least n characters, where that saves some.
func cutID(id string, n int) string {
	if random.MatchString(id) {
		n = max(n, shortRandomID)
	} else {
		n = max(n, shortID)
	}
	if runes := []rune(id); len(runes) > n+4 {
		return string(runes[:n])
	}
	return id
}

// commonPrefix counts the characters that both begin with.
func commonPrefix(a, b string) int {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

// width returns how many columns of a terminal the table takes, at its narrowest if
// narrow is set.
func (s sheet) width(shown []int, numbered, narrow bool) int {
	t := s.table(shown, 0, numbered)
	total := gap * (len(t.Columns) - 1)
	for i, w := range t.natural() {
		if least := t.Columns[i].Least; narrow && least > 0 {
			w = min(w, least)
		}
		total += w
	}
	return total
}

// table returns the table of some of the columns.
func (s sheet) table(shown []int, before int, numbered bool) Table {
	var t Table
	if numbered {
		t.Columns = append(t.Columns, Column{Name: "#", Right: true})
	}
	for _, c := range shown {
		column := Column{Name: strings.ToUpper(Safe(s.columns[c].Name)), Right: isNumber(s.columns[c].Type)}
		if !column.Right && !isID(s.columns[c].Name) && !isTime(s.columns[c].Type) {
			column.Least = least
		}
		t.Columns = append(t.Columns, column)
	}
	for i, row := range s.rows {
		var cells []string
		if numbered {
			cells = append(cells, fmt.Sprint(before+i+1))
		}
		for _, c := range shown {
			cells = append(cells, row[c])
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// list writes the only row of a page with a line for each value.
func (s sheet) list(w io.Writer, before, width int) error {
	return writeRecord(w, before+1, s.columns, s.rows[0], width)
}
