package ledger

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/internal/column"
)

// TestBatchLikeAnotherGrowsNoColumn: a batch like another one has room for its rows from the start.
func TestBatchLikeAnotherGrowsNoColumn(t *testing.T) {
	type row struct {
		Text   string   `ch:"text"`
		Number uint64   `ch:"number"`
		Known  *int64   `ch:"known"`
		Names  []string `ch:"names"`
	}
	rows := make([]row, 2000)
	for i := range rows {
		n := int64(i)
		rows[i] = row{fmt.Sprint("text ", i), uint64(i), &n, []string{"a", "bc"}}
	}
	var first column.Rows[row]
	for _, r := range rows {
		first.Add(r)
	}
	made := func(rows []row) float64 {
		return testing.AllocsPerRun(1, func() {
			var second column.Rows[row]
			second.ShapeLike(&first.Block)
			for _, r := range rows {
				second.Add(r)
			}
		})
	}
	if empty, full := made(nil), made(rows); full > empty {
		t.Errorf("%v allocations made it, and %v with its rows", empty, full)
	}
}
