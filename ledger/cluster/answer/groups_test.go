package answer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// counts is an answer in memory with the columns of quarantine-by-code.
type counts struct{ list }

func (*counts) Columns() (columns []read.ResultColumn) {
	for _, name := range []string{"tenant", "code", "pointer", "messages", "sources", "first_at", "last_at", "example_seq"} {
		columns = append(columns, read.ResultColumn{Name: name})
	}
	return columns
}

// TestGroups combines the rows of three shards, where a group is on one, two or three of them.
func TestGroups(t *testing.T) {
	t.Parallel()
	q, err := queries.Get("quarantine-by-code")
	if err != nil {
		t.Fatal(err)
	}
	how, ok := q.Merge()
	if !ok {
		t.Fatal("the query is not listed")
	}
	row := func(code string, messages uint64, first, last int64, example uint64, sources ...string) []any {
		return []any{"acme", code, "", messages, sources, time.Unix(first, 0).UTC(), time.Unix(last, 0).UTC(), example}
	}
	first := &counts{list{rows: [][]any{row("b", 5, 20, 40, 7, "d", "e", "f"), row("a", 2, 1, 2, 9, "x")}}}
	second := &counts{list{rows: [][]any{row("a", 2, 3, 4, 1, "x"), row("c", 1, 1, 1, 1)}}}
	third := &counts{list{rows: [][]any{row("a", 3, 2, 3, 8, "y"), row("b", 1, 10, 30, 8, "a", "b", "c")}}}
	g, err := newGrouped([]read.Rows{first, second, third}, how)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{row("a", 7, 1, 4, 1, "x", "y"), row("b", 6, 10, 40, 7, "a", "b", "c", "d", "e"), row("c", 1, 1, 1, 1)}
	if fmt.Sprint(g.rows) != fmt.Sprint(want) {
		t.Errorf("the rows are\n%v\nwant\n%v", g.rows, want)
	}
	broken := errors.New("the shard ended")
	answers := []*counts{{list{rows: [][]any{row("a", 1, 1, 1, 1)}, err: broken}}, {}}
	if _, err := newGrouped([]read.Rows{answers[0], answers[1]}, how); !errors.Is(err, broken) || !answers[0].closed || !answers[1].closed {
		t.Errorf("an answer that ends early gives %v", err)
	}
}

// costs is an answer in memory with some columns of model-costs and of days.
type costs struct{ list }

func (*costs) Columns() (columns []read.ResultColumn) {
	for _, name := range []string{"model", "calls", "cost", "currencies", "joined", "largest", "first", "all", "read", "share", "less", "of", "by"} {
		columns = append(columns, read.ResultColumn{Name: name})
	}
	return columns
}

// TestWaysOfCombining combines values of two shards, also unknown ones.
func TestWaysOfCombining(t *testing.T) {
	t.Parallel()
	how := queries.Merge{Keys: []queries.Key{{Column: "model"}}, Combine: map[string]queries.Combination{
		"calls": {Way: queries.Sum}, "cost": {Way: queries.Single, Of: []string{"currencies"}}, "currencies": {Way: queries.Texts},
		"joined": {Way: queries.Texts}, "largest": {Way: queries.Most}, "first": {Way: queries.Earliest}, "all": {Way: queries.Both},
		"read": {Way: queries.Sum}, "share": {Way: queries.Share, Of: []string{"read", "calls"}},
		"less": {Way: queries.Minus, Of: []string{"share", "read"}}, "of": {Way: queries.ArgMax, Of: []string{"by"}}, "by": {Way: queries.Most},
	}}
	at := time.Unix(1, 0).UTC()
	tuple := func(number int64, text string) []any { return []any{number, text} }
	first := &costs{list{rows: [][]any{
		{"both", uint64(3), 1.5, []string{"EUR"}, "EUR, USD", uint64(7), nil, true, int64(2), 0.1, 1.0, "first", tuple(2, "b")},
		{"one", uint64(3), 1.5, []string{"EUR"}, "EUR", nil, at, true, nil, nil, nil, "alone", tuple(1, "a")},
		{"two currencies", uint64(0), 1.5, []string{"EUR"}, "", nil, nil, true, nil, nil, nil, "first", tuple(2, "a")},
	}}}
	second := &costs{list{rows: [][]any{
		{"two currencies", uint64(0), 2.5, []string{"USD"}, "USD", uint64(1), at, false, int64(1), nil, nil, "second", tuple(2, "b")},
		{"both", uint64(1), nil, []string{}, "EUR", uint64(9), at, true, int64(1), 0.2, 2.0, "second", tuple(1, "c")},
	}}}
	g, err := newGrouped([]read.Rows{first, second}, how)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"both", uint64(4), 1.5, []string{"EUR"}, "EUR, USD", uint64(9), at, true, int64(3), 0.75, -2.25, "first", tuple(2, "b")},
		{"one", uint64(3), 1.5, []string{"EUR"}, "EUR", nil, at, true, nil, nil, nil, "alone", tuple(1, "a")},
		{"two currencies", uint64(0), nil, []string{"EUR", "USD"}, "USD", uint64(1), at, false, int64(1), nil, nil, "second", tuple(2, "b")},
	}
	if fmt.Sprint(g.rows) != fmt.Sprint(want) {
		t.Errorf("the rows are\n%v\nwant\n%v", g.rows, want)
	}
}
