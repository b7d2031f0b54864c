package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// grouped are rows in memory, in their order.
type grouped struct {
	columns []read.ResultColumn
	rows    [][]any
	next    int
}

// newGrouped reads all answers, makes one row of the rows of each group, and sorts the rows. It closes
// the answers. All have the same columns.
func newGrouped(answers []read.Rows, how queries.Merge) (*grouped, error) {
	g := &grouped{columns: answers[0].Columns()}
	by, err := newOrder(g.columns, how.Keys)
	groups := make(map[string][]any)
	for _, rows := range answers {
		for err == nil && rows.Next() {
			row := slices.Clone(rows.Values())
			name := g.group(row, how)
			if known := groups[name]; known != nil {
				g.add(known, row, how)
				continue
			}
			groups[name] = row
			g.rows = append(g.rows, row)
		}
		err = cmp.Or(err, rows.Err(), rows.Close())
	}
	slices.SortStableFunc(g.rows, by.compare)
	return g, err
}

// group returns the values of the columns that are not combined.
func (g *grouped) group(row []any, how queries.Merge) (name string) {
	for i, c := range g.columns {
		if _, combined := how.Combine[c.Name]; !combined {
			name += fmt.Sprintf("%q ", fmt.Sprint(row[i]))
		}
	}
	return name
}

// add adds a row of another shard to the row of its group.
func (g *grouped) add(to, row []any, how queries.Merge) {
	later := false
	for i, c := range g.columns {
		later = later || how.Combine[c.Name] == queries.Latest && compare(row[i], to[i]) > 0
	}
	for i, c := range g.columns {
		switch how.Combine[c.Name] {
		case queries.Sum:
			to[i] = to[i].(uint64) + row[i].(uint64)
		case queries.Earliest:
			if compare(row[i], to[i]) < 0 {
				to[i] = row[i]
			}
		case queries.Latest, queries.OfLatest:
			if later {
				to[i] = row[i]
			}
		case queries.Least:
			to[i] = least(to[i], row[i])
		case queries.Five:
			all := slices.Sorted(slices.Values(slices.Concat(to[i].([]string), row[i].([]string))))
			all = slices.Compact(all)
			to[i] = all[:min(len(all), 5)]
		}
	}
}

// least returns the lesser of two texts. NULL and an empty text are no texts.
func least(a, b any) any {
	x, _ := a.(string)
	y, _ := b.(string)
	if x == "" || y != "" && y < x {
		return b
	}
	return a
}

// Columns implements [read.Rows].
func (g *grouped) Columns() []read.ResultColumn { return g.columns }

// Next implements [read.Rows].
func (g *grouped) Next() bool { g.next++; return g.next <= len(g.rows) }

// Values implements [read.Rows].
func (g *grouped) Values() []any { return g.rows[g.next-1] }

// Err implements [read.Rows].
func (g *grouped) Err() error { return nil }

// Close implements [read.Rows].
func (g *grouped) Close() error { return nil }
