package answer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// named is an answer whose errors name the shard.
type named struct {
	read.Rows
	shard cluster.Shard
}

func (n *named) Err() error {
	if err := n.Rows.Err(); err != nil {
		return n.shard.Failed(err)
	}
	return nil
}

func (n *named) Close() error {
	if err := n.Rows.Close(); err != nil {
		return n.shard.Failed(err)
	}
	return nil
}

// bounds bound the rows of an answer.
type bounds struct {
	limit   uint64 // the rows after it are left out
	limited bool
	allowed uint64 // more are an error; 0 allows any
}

// merged are the rows of sorted answers in one order. Rows with equal keys come in the order of
// their answer.
type merged struct {
	answers []read.Rows
	order   order
	most    bounds
	next    [][]any // the next row of each answer; nil at its end
	row     []any
	count   uint64
	err     error
}

// An order sorts rows by some of their columns.
type order []sortKey

type sortKey struct {
	queries.Key
	at int // place of the column
}

func newOrder(columns []read.ResultColumn, keys []queries.Key) (by order, err error) {
	for _, k := range keys {
		at := slices.IndexFunc(columns, func(c read.ResultColumn) bool { return c.Name == k.Column })
		if at < 0 {
			return nil, fmt.Errorf("the answer has no column %s to sort by", k.Column)
		}
		by = append(by, sortKey{k, at})
	}
	return by, nil
}

// newMerged merges answers, which it closes in the end. All have the same columns.
func newMerged(answers []read.Rows, keys []queries.Key, most bounds) (*merged, error) {
	m := &merged{answers: answers, most: most, next: make([][]any, len(answers))}
	if m.order, m.err = newOrder(m.Columns(), keys); m.err != nil {
		return nil, errors.Join(m.err, m.Close())
	}
	for i := range answers {
		m.advance(i)
	}
	if m.err != nil {
		return nil, errors.Join(m.err, m.Close())
	}
	return m, nil
}

// advance reads the next row of an answer.
func (m *merged) advance(i int) {
	m.next[i] = nil
	if m.answers[i].Next() {
		m.next[i] = m.answers[i].Values()
		return
	}
	m.err = errors.Join(m.err, m.answers[i].Err())
}

// Columns implements [read.Rows].
func (m *merged) Columns() []read.ResultColumn { return m.answers[0].Columns() }

// Next implements [read.Rows].
func (m *merged) Next() bool {
	first := -1
	for i, row := range m.next {
		if row != nil && (first < 0 || m.order.compare(row, m.next[first]) < 0) {
			first = i
		}
	}
	if m.err != nil || first < 0 || m.most.limited && m.count >= m.most.limit {
		return false
	}
	if m.count++; m.most.allowed > 0 && m.count > m.most.allowed {
		m.err = &read.LimitError{Limit: "rows", Value: fmt.Sprint(m.most.allowed)}
		return false
	}
	m.row = m.next[first]
	m.advance(first)
	return true
}

// Values implements [read.Rows].
func (m *merged) Values() []any { return m.row }

// Err implements [read.Rows].
func (m *merged) Err() error { return m.err }

// Close implements [read.Rows].
func (m *merged) Close() error {
	var err error
	for _, rows := range m.answers {
		err = cmp.Or(err, rows.Close())
	}
	return cmp.Or(err, m.err)
}

// compare returns a negative number for a row that sorts before another, and 0 for equal keys.
func (o order) compare(a, b []any) int {
	for _, k := range o {
		x, y := a[k.at], b[k.at]
		switch {
		case x == nil && y == nil:
			continue
		case x == nil: // NULL is last
			return 1
		case y == nil:
			return -1
		}
		if k.Absolute {
			x, y = absolute(x), absolute(y)
		}
		found := compare(x, y)
		if k.Descending {
			found = -found
		}
		if found != 0 {
			return found
		}
	}
	return 0
}

// compare compares two values of one column, as ClickHouse sorts them.
func compare(x, y any) int {
	switch a := x.(type) {
	case string:
		return strings.Compare(a, y.(string))
	case time.Time:
		return a.Compare(y.(time.Time))
	case []byte:
		return bytes.Compare(a, y.([]byte))
	case []any:
		return slices.CompareFunc(a, y.([]any), compare)
	case bool:
		if b := y.(bool); a != b {
			if a {
				return 1
			}
			return -1
		}
		return 0
	}
	a, b := reflect.ValueOf(x), reflect.ValueOf(y)
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(a.Float(), b.Float())
}

// absolute returns the absolute value of a number.
func absolute(x any) any {
	v := reflect.ValueOf(x)
	if v.CanInt() {
		return max(v.Int(), -v.Int())
	}
	return math.Abs(v.Float())
}
