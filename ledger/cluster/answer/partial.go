package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/queries"
)

// A partial is a way to combine values that are computed from more than the value of each shard. The
// statement of the shards has the parts in place of the value.
type partial struct {
	function string                        // that computes the value; its arguments follow in parentheses
	parts    func(arguments string) string // the expression of the parts; "" if the arguments do not fit
	add      func(a, b any) any            // the parts of two shards
	value    func(parts any) any
	column   string // type of the value
}

var partials = map[queries.Way]partial{
	queries.Distinct: {
		function: "uniqExact",
		// The digests of the values take 16 bytes each, and two values do not have the same one.
		parts: func(arguments string) string { return "groupUniqArray(sipHash128(" + arguments + "))" },
		add: func(a, b any) any {
			all := slices.Concat(a.([]string), b.([]string))
			slices.Sort(all)
			return slices.Compact(all)
		},
		value:  func(parts any) any { return uint64(len(parts.([]string))) },
		column: "UInt64",
	},
	queries.Mean: {
		function: "avg",
		parts: func(arguments string) string {
			return fmt.Sprintf("[ifNull(toFloat64(sum(%s)), 0), toFloat64(count(%[1]s))]", arguments)
		},
		add: func(a, b any) any {
			x, y := a.([]float64), b.([]float64)
			return []float64{x[0] + y[0], x[1] + y[1]}
		},
		value:  func(parts any) any { return share(parts.([]float64)[0], parts.([]float64)[1]) },
		column: "Nullable(Float64)",
	},
	queries.Median: {
		function: "quantileExact(0.5)",
		parts:    func(arguments string) string { return "groupArray(toInt64(" + arguments + "))" },
		add:      func(a, b any) any { return slices.Concat(a.([]int64), b.([]int64)) },
		value: func(parts any) any {
			list := slices.Sorted(slices.Values(parts.([]int64)))
			if len(list) == 0 {
				return nil
			}
			return list[len(list)/2] // as quantileExact
		},
		column: "Nullable(Int64)",
	},
	queries.Currency: {
		function: "if",
		parts: func(arguments string) string {
			found := inOneCurrency.FindStringSubmatch(arguments)
			if found == nil || found[1] != found[2] {
				return ""
			}
			return fmt.Sprintf("(groupUniqArrayIf(toString(%s), %[1]s != ''), %s)", found[1], found[3])
		},
		add: func(a, b any) any {
			x, y := a.([]any), b.([]any)
			return []any{union(x[0], y[0]), sum(plain(x[1]), plain(y[1]))}
		},
		value: func(parts any) any {
			x := parts.([]any)
			if len(texts(x[0])) > 1 {
				return nil
			}
			return plain(x[1])
		},
		column: "Nullable(Float64)",
	},
}

// plain returns the number of a tuple, where a number that can be NULL is a pointer.
func plain(number any) any {
	p, ok := number.(*float64)
	switch {
	case !ok:
		return number
	case p == nil:
		return nil
	}
	return *p
}

// inOneCurrency matches the arguments of a sum that is NULL for several currencies.
var inOneCurrency = regexp.MustCompile(`^uniqExactIf\((\w+), (\w+) != ''\) > 1, NULL, (sum\(\w+\))$`)

// inParts returns the statement with the parts of the columns that have any. A statement without the
// function of a column is an error of the catalogue.
func inParts(q queries.Query, how queries.Merge) (string, error) {
	sql := q.SQL
	for column, c := range how.Combine {
		p, ok := partials[c.Way]
		if !ok {
			continue
		}
		if sql, ok = p.replace(sql, column); !ok {
			return "", fmt.Errorf("query %s: its column %s is not computed by %s", q.Name, column, p.function)
		}
	}
	return sql, nil
}

// replace replaces the function of a column by the expression of its parts.
func (p partial) replace(sql, column string) (string, bool) {
	found := regexp.MustCompile(`\) AS `+column+`\b`).FindAllStringIndex(sql, -1)
	if len(found) != 1 {
		return "", false
	}
	end, open := found[0][0], found[0][0]
	for depth := 1; depth > 0; {
		if open--; open < 0 {
			return "", false
		}
		switch sql[open] {
		case ')':
			depth++
		case '(':
			depth--
		}
	}
	before, fits := strings.CutSuffix(sql[:open], p.function)
	parts := p.parts(sql[open+1 : end])
	return before + parts + sql[end+1:], fits && parts != ""
}
