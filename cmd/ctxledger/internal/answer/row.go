// Package answer asks a ledger the questions that the commands, the report and the pages ask.
//
// The package has no flags and draws nothing. Its answers are the rows of named queries, and the
// windows and histories that [windowview] and [history] draw.
package answer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// Row is one row of a named query, by column.
type Row map[string]any

// Ask runs a named query and returns all its rows. A wrong argument is a
// [queries.ParameterError].
func Ask(ctx context.Context, l *ledger.Ledger, name string, arguments map[string]string) ([]Row, error) {
	q, err := queries.Get(name)
	if err != nil {
		return nil, err
	}
	result, err := Rows(ctx, l, q, arguments)
	if err != nil {
		return nil, err
	}
	return Collect(result)
}

// Collect reads and closes an answer.
func Collect(result read.Rows) ([]Row, error) {
	var list []Row
	for result.Next() {
		row := make(Row)
		for i, value := range result.Values() {
			row[result.Columns()[i].Name] = value
		}
		list = append(list, row)
	}
	return list, result.Close()
}

// Text returns a column as text, empty for NULL.
func (r Row) Text(column string) string {
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
func (r Row) Texts(column string) []string {
	v, _ := r[column].([]string)
	return v
}

// Number returns a column as a number, nil for NULL.
func (r Row) Number(column string) *int64 {
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

// Numbers returns a column that is a list of numbers.
func (r Row) Numbers(column string) []int64 {
	v, _ := r[column].([]int64)
	return v
}

// Count is number for a column that is never NULL.
func (r Row) Count(column string) int64 {
	if n := r.Number(column); n != nil {
		return *n
	}
	return 0
}

// Moment returns a column that is a time, zero for NULL.
func (r Row) Moment(column string) time.Time {
	v, _ := r[column].(time.Time)
	return v
}

// Float returns a column as a number with a fraction, nil for NULL.
func (r Row) Float(column string) *float64 {
	switch v := r[column].(type) {
	case float64:
		return &v
	case float32:
		return new(float64(v))
	}
	return nil
}
