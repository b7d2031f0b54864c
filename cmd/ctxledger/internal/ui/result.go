package ui

import (
	"encoding"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// RowFormats are the names that WriteRows takes.
var RowFormats = []string{"table", "json", "csv", "vertical"}

// A Form is the form in which rows are written.
type Form struct {
	Format string // one of RowFormats
	// Width is the most columns of a terminal that a line of a table takes; 0 is no limit.
	// A table with a limit shortens ids, and lists the columns that it leaves out.
	Width int
	// Terminal numbers the rows that have ids, and writes separators into numbers.
	Terminal bool
	// First are the columns that a table which is too wide shows before the others.
	First []string
	// CSVSafe defuses cells that a spreadsheet would run, and makes all cells [Safe].
	CSVSafe bool
}

// Drawn are the ids of the rows of a table, by column, in the order of its numbers.
type Drawn []map[string]string

// WriteRows writes the rows of r in the given form. The results are the number of rows
// and the ids of numbered rows. JSON is one array of objects, CSV has a header line,
// vertical has a line for each value. NULL is null in JSON, empty in CSV and a dash
// otherwise. Repeated names of columns get a number: a, a_2.
func WriteRows(w io.Writer, r read.Rows, f Form) (n int, drawn Drawn, err error) {
	columns := distinct(r.Columns())
	switch f.Format {
	case "table":
		return writeTable(w, r, columns, f)
	case "json":
		n, err = writeJSON(w, r, columns)
	case "csv":
		n, err = writeCSV(w, r, columns, f.CSVSafe)
	case "vertical":
		n, err = writeVertical(w, r, columns)
	default:
		err = fmt.Errorf("output format %q: use one of %s", f.Format, strings.Join(RowFormats, ", "))
	}
	return n, nil, err
}

// NoLimit is a width that no table reaches.
const NoLimit = 1 << 20

// distinct numbers repeated names of columns, and makes all names text.
func distinct(columns []read.ResultColumn) []read.ResultColumn {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].Name = strings.ToValidUTF8(columns[i].Name, "\uFFFD")
	}
	taken := make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[c.Name] = true
	}
	seen := make(map[string]bool, len(columns))
	list := make([]read.ResultColumn, len(columns))
	for i, c := range columns {
		name := c.Name
		for n := 2; seen[name] || name != c.Name && taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		seen[name] = true
		list[i] = read.ResultColumn{Name: name, Type: c.Type}
	}
	return list
}

func writeJSON(w io.Writer, r read.Rows, columns []read.ResultColumn) (n int, err error) {
	enc := jsontext.NewEncoder(w)
	err = enc.WriteToken(jsontext.BeginArray)
	for err == nil && r.Next() {
		n++
		err = writeObject(enc, columns, r.Values())
	}
	if err == nil {
		err = enc.WriteToken(jsontext.EndArray)
	}
	if err != nil {
		return n, err
	}
	return n, r.Err()
}

func writeObject(enc *jsontext.Encoder, columns []read.ResultColumn, values []any) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i, c := range columns {
		if err := enc.WriteToken(jsontext.String(c.Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, jsonValue(plainValue(values[i])), json.Deterministic(true), json.FormatNilSliceAsNull(false)); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// plainValue turns values that JSON cannot hold into text: bytes become hexadecimal.
func plainValue(value any) any {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			return hex.EncodeToString([]byte(v))
		}
	case fmt.Stringer:
		if _, isTime := value.(time.Time); !isTime {
			return v.String()
		}
	}
	return value
}

// jsonValue replaces values that JSON cannot hold, also within lists and maps: numbers that are not finite become
// null, and text that is not UTF-8 becomes hexadecimal. A list of UInt8 is a list of numbers.
func jsonValue(value any) any {
	if _, ok := value.(encoding.TextMarshaler); ok {
		return value
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return nil
		}
	case reflect.String:
		return plainValue(v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			return jsonValue(v.Elem().Interface())
		}
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = jsonValue(v.Index(i).Interface())
		}
		return list
	case reflect.Map:
		entries := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			entries[cellText(key.Interface(), "", exact)] = jsonValue(value.Interface())
		}
		return entries
	}
	return value
}

func writeCSV(w io.Writer, r read.Rows, columns []read.ResultColumn, safe bool) (n int, err error) {
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = CSVCell(c.Name, safe)
	}
	err = out.Write(record)
	for err == nil && r.Next() {
		n++
		for i, value := range r.Values() {
			record[i] = cellText(value, "", exact)
			if !isNumber(columns[i].Type) {
				record[i] = CSVCell(record[i], safe)
			}
		}
		if len(record) == 1 && record[0] == "" { // else an empty line, which readers of CSV skip
			out.Flush()
			_, err = io.WriteString(w, "\"\"\n")
			continue
		}
		err = out.Write(record)
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return n, err
	}
	return n, r.Err()
}

// CSVCell returns a text for a cell of CSV. A safe one is [Safe], and begins with an
// apostrophe where a spreadsheet would run it.
//
// Source: OWASP, CSV injection.
func CSVCell(text string, safe bool) string {
	if !safe || text == "" {
		return text
	}
	if strings.ContainsRune("=+-@\t\r", rune(text[0])) || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") || strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		text = "'" + text
	}
	return Safe(text)
}

func writeVertical(w io.Writer, r read.Rows, columns []read.ResultColumn) (n int, err error) {
	for r.Next() {
		n++
		values := make([]string, len(columns))
		for i, value := range r.Values() {
			values[i] = Safe(cellText(value, "-", exact))
		}
		if err := writeRecord(w, n, columns, values, NoLimit); err != nil {
			return n, err
		}
	}
	return n, r.Err()
}

// writeRecord writes one row with a line for each column.
func writeRecord(w io.Writer, n int, columns []read.ResultColumn, values []string, width int) error {
	if _, err := fmt.Fprintf(w, "row %d\n", n); err != nil {
		return err
	}
	t := Table{Columns: []Column{{Least: 8}, {Least: 8}}}
	for i, c := range columns {
		t.Rows = append(t.Rows, []string{c.Name, values[i]})
	}
	return t.Write(w, width, "  ")
}

func isNumber(columnType string) bool {
	columnType = strings.TrimSuffix(strings.TrimPrefix(columnType, "Nullable("), ")")
	for _, prefix := range []string{"Int", "UInt", "Float", "Decimal"} {
		if strings.HasPrefix(columnType, prefix) {
			return true
		}
	}
	return false
}

// cellText writes a value on one line.
func cellText(value any, null string, number func(float64) string) string {
	switch v := plainValue(value).(type) {
	case nil:
		return null
	case string:
		return v
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.999Z07:00")
	case float64:
		return number(v)
	case float32:
		return number(float64(v))
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		encoded, err := json.Marshal(jsonValue(value), json.Deterministic(true), json.FormatNilSliceAsNull(false))
		if err == nil {
			return string(encoded)
		}
	}
	return fmt.Sprint(value)
}

// exact writes a number so that it reads back as the same.
func exact(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// short writes a number with four decimals, and a small one with four digits: a
// price of one call is no zero.
func short(f float64) string {
	decimals := 4
	for least := 0.1; f != 0 && math.Abs(f) < least && decimals < 12; least /= 10 {
		decimals++
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', decimals, 64), "0"), ".")
}
