package answer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	if err == nil {
		g.complete(how)
		slices.SortStableFunc(g.rows, by.compare)
	}
	return g, err
}

// complete computes the columns whose values follow from parts or from several rows.
func (g *grouped) complete(how queries.Merge) {
	g.columns = slices.Clone(g.columns)
	for i, c := range g.columns {
		p, ok := partials[how.Combine[c.Name].Way]
		if !ok {
			continue
		}
		g.columns[i].Type = p.column
		for _, row := range g.rows {
			row[i] = p.value(row[i])
		}
	}
	for i, c := range g.columns {
		if how := how.Combine[c.Name]; how.Way == queries.Portion {
			g.portion(i, g.at(how.Of[0]), g.at(how.Of[1]))
		}
	}
}

// portion divides the values of a column by their sum over the rows with the same value of another one.
func (g *grouped) portion(to, of, by int) {
	sums := make(map[string]any)
	for _, row := range g.rows {
		name := fmt.Sprint(row[by])
		sums[name] = sum(sums[name], row[of])
	}
	for _, row := range g.rows {
		row[to] = share(row[of], sums[fmt.Sprint(row[by])])
	}
}

// at returns the place of a column.
func (g *grouped) at(column string) int {
	return slices.IndexFunc(g.columns, func(c read.ResultColumn) bool { return c.Name == column })
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
	before := slices.Clone(to)
	for i, c := range g.columns {
		switch way := how.Combine[c.Name].Way; way {
		case queries.Sum, queries.Single:
			to[i] = sum(to[i], row[i])
		case queries.Most, queries.Latest:
			if after(row[i], to[i]) {
				to[i] = row[i]
			}
		case queries.Lowest, queries.Earliest:
			if to[i] == nil || row[i] != nil && compare(row[i], to[i]) < 0 {
				to[i] = row[i]
			}
		case queries.ArgMax:
			if by := g.at(how.Combine[c.Name].Of[0]); after(row[by], before[by]) {
				to[i] = row[i]
			}
		case queries.Least:
			to[i] = least(to[i], row[i])
		case queries.Texts:
			to[i] = union(to[i], row[i])
		case queries.Five:
			to[i] = first(5, union(to[i], row[i]).([]string))
		case queries.Ten:
			to[i] = first(10, union(to[i], row[i]).([]string))
		case queries.Both:
			to[i] = to[i].(bool) && row[i].(bool)
		default:
			if p, ok := partials[way]; ok {
				to[i] = p.add(to[i], row[i])
			}
		}
	}
	g.derive(to, how)
}

// derive computes the values that follow from other columns of the row.
func (g *grouped) derive(row []any, how queries.Merge) {
	of := func(column string) any { return row[g.at(column)] }
	for i, c := range g.columns {
		switch how := how.Combine[c.Name]; how.Way {
		case queries.Single:
			if list := texts(of(how.Of[0])); len(list) > 1 {
				row[i] = nil
			}
		case queries.Share:
			row[i] = share(of(how.Of[0]), of(how.Of[1]))
		case queries.Minus:
			row[i] = minus(of(how.Of[0]), of(how.Of[1]))
		}
	}
}

// after reports whether a value is larger than another. NULL is not larger.
func after(a, b any) bool { return a != nil && (b == nil || compare(a, b) > 0) }

// sum adds two numbers of one type. NULL is no number.
func sum(a, b any) any {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	total := reflect.New(x.Type()).Elem()
	switch {
	case x.CanInt():
		total.SetInt(x.Int() + y.Int())
	case x.CanUint():
		total.SetUint(x.Uint() + y.Uint())
	default:
		total.SetFloat(x.Float() + y.Float())
	}
	return total.Interface()
}

// share divides two numbers. It is NULL without them, and for a divisor of 0.
func share(a, b any) any {
	if a == nil || b == nil || number(b) == 0 {
		return nil
	}
	return number(a) / number(b)
}

// minus subtracts two numbers. It is NULL without both.
func minus(a, b any) any {
	if a == nil || b == nil {
		return nil
	}
	return number(a) - number(b)
}

func number(x any) float64 {
	v := reflect.ValueOf(x)
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

// separator is between the texts of a list in one text.
const separator = ", "

// texts returns the texts of a list.
func texts(list any) []string {
	text, joined := list.(string)
	switch {
	case !joined:
		return list.([]string)
	case text == "":
		return nil
	}
	return strings.Split(text, separator)
}

// union returns all texts of two lists, sorted, in the form of the first.
func union(a, b any) any {
	all := slices.Sorted(slices.Values(slices.Concat(texts(a), texts(b))))
	all = slices.Compact(all)
	if _, joined := a.(string); joined {
		return strings.Join(all, separator)
	}
	return all
}

// first returns at most n texts.
func first(n int, list []string) []string { return list[:min(len(list), n)] }

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
