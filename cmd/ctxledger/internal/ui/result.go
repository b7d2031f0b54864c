package ui

import (
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// RowFormats are the names that WriteRows takes.
var RowFormats = []string{"table", "json", "csv"}

// WriteRows writes the rows of r in the named format and returns how many there
// were. JSON is one array of objects, CSV has a header line, and NULL is null
// in JSON, empty in CSV and a dash in a table.
func WriteRows(w io.Writer, r read.Rows, format string) (int, error) {
	switch format {
	case "table":
		return writeTable(w, r)
	case "json":
		return writeJSON(w, r)
	case "csv":
		return writeCSV(w, r)
	}
	return 0, fmt.Errorf("output format %q: there are %s", format, strings.Join(RowFormats, ", "))
}

func writeJSON(w io.Writer, r read.Rows) (n int, err error) {
	enc := jsontext.NewEncoder(w)
	err = enc.WriteToken(jsontext.BeginArray)
	for err == nil && r.Next() {
		n++
		err = writeObject(enc, r.Columns(), r.Values())
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
		if err := json.MarshalEncode(enc, plainValue(values[i]), json.Deterministic(true), json.FormatNilSliceAsNull(false)); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// plainValue turns what JSON cannot hold into text: bytes become hexadecimal.
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

func writeCSV(w io.Writer, r read.Rows) (n int, err error) {
	out := csv.NewWriter(w)
	record := make([]string, len(r.Columns()))
	for i, c := range r.Columns() {
		record[i] = c.Name
	}
	err = out.Write(record)
	for err == nil && r.Next() {
		n++
		for i, value := range r.Values() {
			record[i] = cellText(value, "", exact)
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

// page is how many rows a table aligns at a time.
const page = 500

func writeTable(w io.Writer, r read.Rows) (n int, err error) {
	columns := r.Columns()
	widths := make([]int, len(columns))
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = strings.ToUpper(c.Name)
		widths[i] = len(header[i])
	}
	lines := [][]string{header}
	flush := func() error {
		for _, line := range lines {
			if err := writeLine(w, line, widths, columns); err != nil {
				return err
			}
		}
		lines = lines[:0]
		return nil
	}
	for r.Next() {
		n++
		line := make([]string, len(columns))
		for i, value := range r.Values() {
			line[i] = cell(value)
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
		if lines = append(lines, line); len(lines) > page {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	if err := flush(); err != nil {
		return n, err
	}
	return n, r.Err()
}

func writeLine(w io.Writer, line []string, widths []int, columns []read.ResultColumn) error {
	var b strings.Builder
	for i, text := range line {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if i > 0 {
			b.WriteString("  ")
		}
		if isNumber(columns[i].Type) {
			b.WriteString(pad + text)
		} else {
			b.WriteString(text + pad)
		}
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	return err
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

// widest is how many characters of a value a table shows.
const widest = 60

func cell(value any) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, cellText(value, "-", short))
	if runes := []rune(s); len(runes) > widest {
		return string(runes[:widest-1]) + "…"
	}
	return s
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
		encoded, err := json.Marshal(value, json.Deterministic(true), json.FormatNilSliceAsNull(false))
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
