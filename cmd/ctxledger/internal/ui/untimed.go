package ui

import (
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger/read"
)

// untilUntimed ends the times that stand for none. Importers of logs without times count the facts in
// microseconds from 1970. Queries order facts by these times.
var untilUntimed = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)

// IsTime reports whether a time of a fact is one, and not the place of the fact in a log without times.
func IsTime(at time.Time) bool { return !at.Before(untilUntimed) }

// Timed returns the rows of a query of the catalogue with NULL for a fact's time that is none.
func Timed(rows read.Rows) read.Rows {
	timed := timedRows{Rows: rows}
	for i, c := range rows.Columns() {
		if strings.Contains(c.Type, "DateTime") && !strings.HasPrefix(c.Name, "valid_") { // a price is valid from any time on
			timed.times = append(timed.times, i)
		}
	}
	if len(timed.times) == 0 {
		return rows
	}
	return &timed
}

type timedRows struct {
	read.Rows
	times []int // the columns with times
	row   []any
}

// Values implements [read.Rows].
func (r *timedRows) Values() []any {
	r.row = append(r.row[:0], r.Rows.Values()...)
	for _, i := range r.times {
		if at, ok := r.row[i].(time.Time); ok && !IsTime(at) {
			r.row[i] = nil
		}
	}
	return r.row
}
