package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// answer is one row of a named query, by column.
type answer map[string]any

// ask runs a named query and returns all its rows.
func ask(ctx context.Context, l *ledger.Ledger, name string, arguments map[string]string) ([]answer, error) {
	q, err := queries.Get(name)
	if err != nil {
		return nil, err
	}
	bound, err := q.Bind(arguments)
	if err != nil {
		return nil, asUsage(err)
	}
	result, err := turn.Query(ctx, l, q, bound, read.DefaultLimits())
	if err != nil {
		return nil, err
	}
	var list []answer
	for result.Next() {
		row := make(answer)
		for i, value := range result.Values() {
			row[result.Columns()[i].Name] = value
		}
		list = append(list, row)
	}
	return list, result.Close()
}

// asUsage says of a parameter that is wrong that the user gave it.
func asUsage(err error) error {
	if wrong := new(queries.ParameterError); errors.As(err, &wrong) {
		return &exitError{exitUsage, err}
	}
	return err
}

// text returns a column as text, empty for NULL.
func (r answer) text(column string) string {
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

// texts returns a column that is a list of texts.
func (r answer) texts(column string) []string {
	v, _ := r[column].([]string)
	return v
}

// number returns a column as a number, nil for NULL.
func (r answer) number(column string) *int64 {
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

// count is number for a column that is never NULL.
func (r answer) count(column string) int64 {
	if n := r.number(column); n != nil {
		return *n
	}
	return 0
}

// moment returns a column that is a time, zero for NULL.
func (r answer) moment(column string) time.Time {
	v, _ := r[column].(time.Time)
	return v
}

// printJSON writes one JSON value and a line break.
func (a *app) printJSON(value any) error {
	err := json.MarshalWrite(a.out, value, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.EscapeForHTML(false))
	if err == nil {
		_, err = fmt.Fprintln(a.out)
	}
	return err
}
