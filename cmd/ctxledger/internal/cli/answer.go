package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// Answer is one row of a named query, by column.
type Answer map[string]any

// Ask runs a named query and returns all its rows.
func Ask(ctx context.Context, l *ledger.Ledger, name string, arguments map[string]string) ([]Answer, error) {
	q, err := queries.Get(name)
	if err != nil {
		return nil, err
	}
	bound, err := q.Bind(arguments)
	if err != nil {
		return nil, AsUsage(err)
	}
	result, err := turn.Query(ctx, l, q, bound, read.DefaultLimits())
	if err != nil {
		return nil, err
	}
	var list []Answer
	for result.Next() {
		row := make(Answer)
		for i, value := range result.Values() {
			row[result.Columns()[i].Name] = value
		}
		list = append(list, row)
	}
	return list, result.Close()
}

// AsUsage makes a wrong parameter an error of usage.
func AsUsage(err error) error {
	if wrong := new(queries.ParameterError); errors.As(err, &wrong) {
		return WithCode(ExitUsage, err)
	}
	return err
}

// Text returns a column as text, empty for NULL.
func (r Answer) Text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// Texts returns a column that is a list of texts.
func (r Answer) Texts(column string) []string {
	v, _ := r[column].([]string)
	return v
}

// Number returns a column as a number, nil for NULL.
func (r Answer) Number(column string) *int64 {
	switch v := r[column].(type) {
	case int64:
		return &v
	case uint64:
		return new(int64(v))
	case uint32:
		return new(int64(v))
	case int32:
		return new(int64(v))
	}
	return nil
}

// Count is number for a column that is never NULL.
func (r Answer) Count(column string) int64 {
	if n := r.Number(column); n != nil {
		return *n
	}
	return 0
}

// Moment returns a column that is a time, zero for NULL.
func (r Answer) Moment(column string) time.Time {
	v, _ := r[column].(time.Time)
	return v
}

// A Report is the result of a command, printed as a table or as one JSON object.
type Report interface {
	WriteTable(w io.Writer) error
}

// PrintReport writes a report in the form of -o.
func (a *App) PrintReport(report Report, output string) error {
	if output != "json" {
		var text bytes.Buffer
		if err := report.WriteTable(&text); err != nil {
			return err
		}
		_, err := io.WriteString(a.Out, ui.Fit(text.String(), a.TableWidth()))
		return err
	}
	if err := json.MarshalWrite(a.Out, report, jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out)
	return err
}

// PrintJSON writes one JSON value and a line break.
func (a *App) PrintJSON(value any) error {
	err := json.MarshalWrite(a.Out, value, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.EscapeForHTML(false))
	if err == nil {
		_, err = fmt.Fprintln(a.Out)
	}
	return err
}
