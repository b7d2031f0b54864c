package turn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// Query answers a named query with the values of [queries.Query.Bind]: window and why as this
// package does, every other by its statement. For the first two, the limits of time and memory
// apply to each select.
//
// A column that is not there belongs to tables of an older version: the error then wraps
// [read.ErrNotMigrated].
func Query(ctx context.Context, l *ledger.Ledger, q queries.Query, bound map[string]string, limits read.Limits) (read.Rows, error) {
	rows, err := query(ctx, l, q, bound, limits)
	if errors.Is(err, read.ErrNoColumn) {
		return nil, fmt.Errorf("%w: a column of this version is missing; run `ctxledger migrate`: %s", read.ErrNotMigrated, err)
	}
	return rows, err
}

func query(ctx context.Context, l *ledger.Ledger, q queries.Query, bound map[string]string, limits read.Limits) (read.Rows, error) {
	answer, ok := answers[q.Name]
	if !ok {
		return read.Of(l).Query(ctx, q.SQL, bound, limits)
	}
	most := limits.Rows
	limits.Rows = read.DefaultLimits().Rows
	return answer(ctx, reader{ledger: l, given: bound, limits: limits}, q, most)
}

var answers = map[string]func(ctx context.Context, r reader, q queries.Query, most uint64) (read.Rows, error){
	"window": func(ctx context.Context, r reader, q queries.Query, most uint64) (read.Rows, error) {
		blocks, _, err := r.window(ctx, false)
		return listed(q, blocks, most, err)
	},
	"why": func(ctx context.Context, r reader, q queries.Query, most uint64) (read.Rows, error) {
		steps, err := r.way(ctx)
		return listed(q, steps, most, err)
	},
}

// list is rows that are structs whose fields name their columns by the tag ch.
type list struct {
	columns []read.ResultColumn
	fields  [][]int // of each column
	rows    reflect.Value
	next    int
}

// listed returns rows in the query's order of columns, unless there are more than may be.
func listed[T any](q queries.Query, rows []T, most uint64, err error) (read.Rows, error) {
	if err == nil && most > 0 && uint64(len(rows)) > most {
		err = &read.LimitError{Limit: "rows", Value: fmt.Sprint(most)}
	}
	if err != nil {
		return nil, err
	}
	r := list{rows: reflect.ValueOf(rows)}
	fields := make(map[string]reflect.StructField)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		fields[f.Tag.Get("ch")] = f
	}
	for _, c := range q.Columns {
		f := fields[c.Name]
		r.columns = append(r.columns, read.ResultColumn{Name: c.Name, Type: columnType(f.Type)})
		r.fields = append(r.fields, f.Index)
	}
	return &r, nil
}

// columnType is ClickHouse's type for one of Go's.
func columnType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "Nullable(" + columnType(t.Elem()) + ")"
	case reflect.Slice:
		return "Array(" + columnType(t.Elem()) + ")"
	case reflect.Map:
		return "Map(" + columnType(t.Key()) + ", " + columnType(t.Elem()) + ")"
	case reflect.Struct:
		return "DateTime64(9, 'UTC')"
	case reflect.Uint64:
		return "UInt64"
	}
	return strings.ToUpper(t.Kind().String()[:1]) + t.Kind().String()[1:]
}

// Columns implements [read.Rows].
func (r *list) Columns() []read.ResultColumn { return r.columns }

// Next implements [read.Rows].
func (r *list) Next() bool {
	r.next++
	return r.next <= r.rows.Len()
}

// Values implements [read.Rows].
func (r *list) Values() []any {
	row, values := r.rows.Index(r.next-1), make([]any, len(r.fields))
	for i, field := range r.fields {
		v := row.FieldByIndex(field)
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				continue
			}
			v = v.Elem()
		}
		values[i] = v.Interface()
	}
	return values
}

// Err implements [read.Rows].
func (r *list) Err() error { return nil }

// Close implements [read.Rows].
func (r *list) Close() error { return nil }
