package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// parted is an answer in memory with a column for each way that has parts, and one for a portion.
type parted struct{ list }

func (*parted) Columns() (columns []read.ResultColumn) {
	for _, name := range []string{"layer", "items", "mean", "median", "cost", "tokens", "share"} {
		columns = append(columns, read.ResultColumn{Name: name})
	}
	return columns
}

// TestParts combines the parts of two shards. A group is on one of them or on both.
func TestParts(t *testing.T) {
	t.Parallel()
	how := queries.Merge{Keys: []queries.Key{{Column: "layer"}}, Combine: map[string]queries.Combination{
		"items": {Way: queries.Distinct}, "mean": {Way: queries.Mean}, "median": {Way: queries.Median}, "cost": {Way: queries.Currency},
		"tokens": {Way: queries.Sum}, "share": {Way: queries.Portion, Of: []string{"tokens", "layer"}},
	}}
	in := func(currency string, sum float64) []any { return []any{[]string{currency}, &sum} }
	first := &parted{list{rows: [][]any{
		{"both", []string{"a", "b"}, []float64{10, 4}, []int64{5, 1}, in("EUR", 1.5), int64(3), nil},
		{"unknown", []string{}, []float64{0, 0}, []int64{}, []any{[]string{}, (*float64)(nil)}, nil, nil},
	}}}
	second := &parted{list{rows: [][]any{
		{"both", []string{"c", "b"}, []float64{5, 1}, []int64{9, 7}, in("EUR", 2), int64(1), nil},
		{"other", []string{"z"}, []float64{7, 2}, []int64{4}, []any{[]string{"EUR", "USD"}, new(float64)}, int64(9), nil},
	}}}
	g, err := newGrouped([]read.Rows{first, second}, how)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"both", uint64(3), 3.0, int64(7), 3.5, int64(4), 1.0},
		{"other", uint64(1), 3.5, int64(4), nil, int64(9), 1.0},
		{"unknown", uint64(0), nil, nil, nil, nil, nil},
	}
	if fmt.Sprint(g.rows) != fmt.Sprint(want) || g.Columns()[1].Type != "UInt64" {
		t.Errorf("the rows are\n%v\nwant\n%v", g.rows, want)
	}
	g.portion(6, 5, 6) // of the rows with the same share
	if found := fmt.Sprint(g.rows[0][6], g.rows[1][6]); found != fmt.Sprint(4.0/13, 9.0/13) {
		t.Errorf("the portions are %s", found)
	}
}

// TestEveryStatementHasItsParts also finds that an unlisted form of a column is an error.
func TestEveryStatementHasItsParts(t *testing.T) {
	t.Parallel()
	changed := 0
	for _, q := range queries.All() {
		how, _ := q.Merge()
		sql, err := inParts(q, how)
		if err != nil {
			t.Error(err)
		}
		if _, err := withAdded(q, how.Added); err != nil {
			t.Error(err)
		}
		if sql != q.SQL {
			changed++
		}
		if q.Name != "pressure-steps" {
			continue
		}
		if !strings.Contains(sql, "[ifNull(toFloat64(sum(tokens_before / nullIf(limit_tokens, 0))), 0), toFloat64(count(tokens_before / nullIf(limit_tokens, 0)))] AS mean_fill") {
			t.Errorf("the statement of the shards is\n%s", sql)
		}
		for column, way := range map[string]queries.Way{"times": queries.Mean, "agent": queries.Distinct, "tokens_freed": queries.Currency} {
			how.Combine = map[string]queries.Combination{column: {Way: way}}
			if _, err := inParts(q, how); err == nil {
				t.Errorf("%s has a %s", column, way)
			}
		}
	}
	if changed < 8 {
		t.Errorf("only %d statements have parts", changed)
	}
}
