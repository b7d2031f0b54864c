package ui_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// answer is a result that is known already.
type answer struct {
	columns []read.ResultColumn
	rows    [][]any
	next    int
}

func (a *answer) Columns() []read.ResultColumn { return a.columns }
func (a *answer) Next() bool                   { a.next++; return a.next <= len(a.rows) }
func (a *answer) Values() []any                { return a.rows[a.next-1] }
func (a *answer) Err() error                   { return nil }
func (a *answer) Close() error                 { return nil }

func write(t interface{ Fatal(...any) }, a *answer, f ui.Form) (text string, drawn ui.Drawn) {
	var out bytes.Buffer
	_, drawn, err := ui.WriteRows(&out, a, f)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), drawn
}

// TestTablesFitAnyWidth: no line of a table is wider than the terminal, whatever is in
// it, and every column is shown, said once for all rows, or listed as left out.
func TestTablesFitAnyWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := &answer{}
		for i := range rapid.IntRange(1, 12).Draw(t, "columns") {
			kind := rapid.SampledFrom([]read.ResultColumn{{Name: "session_id", Type: "String"}, {Name: "title", Type: "String"}, {Name: "cache_read_tokens", Type: "Nullable(Int64)"}, {Name: "event_time", Type: "DateTime64(9, 'UTC')"}}).Draw(t, "kind")
			kind.Name = fmt.Sprintf("c%d_%s", i, kind.Name)
			a.columns = append(a.columns, kind)
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			var row []any
			for _, c := range a.columns {
				switch c.Type {
				case "String":
					row = append(row, hostileText().Draw(t, "text"))
				case "Nullable(Int64)":
					row = append(row, rapid.Int64().Draw(t, "number"))
				default:
					row = append(row, time.Unix(rapid.Int64Range(0, 2e9).Draw(t, "time"), 0))
				}
			}
			a.rows = append(a.rows, row)
		}
		width := rapid.IntRange(20, 200).Draw(t, "width")
		text, _ := write(t, a, ui.Form{Format: "table", Width: width, Terminal: rapid.Bool().Draw(t, "terminal")})
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if steers(line) {
				t.Fatalf("%q steers the terminal", line)
			}
			if n := runewidth.StringWidth(line); n > width {
				t.Fatalf("%q takes %d columns of %d", line, n, width)
			}
		}
	})
}

func TestTableNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	a := &answer{columns: []read.ResultColumn{{Name: "tenant", Type: "String"}, {Name: "session_id", Type: "String"}, {Name: "note", Type: "Nullable(String)"}, {Name: "first_number", Type: "Int64"}, {Name: "second_number", Type: "Int64"}, {Name: "third_number", Type: "Int64"}}}
	for i := range 2 {
		a.rows = append(a.rows, []any{"default", fmt.Sprintf("%d19c8a59-e9dd-71f0-9ae3-4079fe9726a9", i), nil, int64(1_000_000 + i), int64(2_000_000 + i), int64(3_000_000 + i)})
	}
	text, drawn := write(t, a, ui.Form{Format: "table", Width: 34, Terminal: true, First: []string{"third_number"}})
	const want = `in all rows: tenant default
#      THIRD  SESSION       FIRST
      NUMBER  ID           NUMBER
1  3,000,000  019c8a59  1,000,000
2  3,000,001  119c8a59  1,000,001
too wide for 34 columns:
  second_number (--wide, or -o
  vertical)
empty in all rows: note
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(drawn) != 2 || drawn[1]["session_id"] != "119c8a59-e9dd-71f0-9ae3-4079fe9726a9" {
		t.Errorf("the rows have the ids %v", drawn)
	}
	a.next = 0
	if whole, _ := write(t, a, ui.Form{Format: "table"}); !strings.Contains(whole, "019c8a59-e9dd-71f0-9ae3-4079fe9726a9") || !strings.Contains(whole, "SECOND_NUMBER") || strings.Contains(whole, "3,000") {
		t.Errorf("a table without a width is not whole:\n%s", whole)
	}
}

func TestShortIDsTellRowsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), rapid.StringMatching(`(turn|call)-[a-z]{0,30}`)), 2, 20, rapid.ID).Draw(t, "ids")
		a := &answer{columns: []read.ResultColumn{{Name: "turn_id", Type: "String"}}}
		for _, id := range ids {
			a.rows = append(a.rows, []any{id})
		}
		text, _ := write(t, a, ui.Form{Format: "table", Width: 200})
		lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
		for i, short := range lines {
			for j, id := range ids {
				if strings.HasPrefix(id, short) != (i == j) && !strings.HasPrefix(id, ids[i]) {
					t.Fatalf("row %d is %q, which begins %q, too", i, short, id)
				}
			}
		}
	})
}

func TestRowsOfOneNameKeepTheirValues(t *testing.T) {
	t.Parallel()
	a := &answer{columns: []read.ResultColumn{{Name: "a", Type: "Int64"}, {Name: "a", Type: "Int64"}, {Name: "a_2", Type: "Int64"}}, rows: [][]any{{int64(1), int64(2), int64(3)}}}
	text, _ := write(t, a, ui.Form{Format: "json"})
	var got []map[string]int
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 1 || got[0]["a"] != 1 || got[0]["a_3"] != 2 || got[0]["a_2"] != 3 {
		t.Errorf("got %s (%v)", text, err)
	}
	a.next = 0
	if text, _ := write(t, a, ui.Form{Format: "vertical"}); text != "row 1\n  a    1\n  a_3  2\n  a_2  3\n" {
		t.Errorf("got %q", text)
	}
}
