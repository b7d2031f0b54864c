package ledger

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A block that was shaped like another is empty, and takes rows as the first did.
func TestShapedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var first, second rowsOf[everyKind]
		for range 2 {
			rows := rapid.SliceOfN(rapid.Make[everyKind](), 1, 20).Draw(t, "rows")
			first, second = rowsOf[everyKind]{}, rowsOf[everyKind]{}
			for _, row := range rows {
				first.add(row)
			}
			want := encoded(&first.block)
			second.shapeLike(&first.block)
			if got := encoded(&second.block); second.rows != 0 || len(got) != 0 {
				t.Fatalf("%d rows and %d bytes are in it before any came", second.rows, len(got))
			}
			for _, row := range rows {
				second.add(row)
			}
			if !bytes.Equal(encoded(&second.block), want) || !bytes.Equal(encoded(&first.block), want) {
				t.Fatal("they hold other rows")
			}
		}
	})
}

// A batch like another has the room for its rows from the start.
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
	var first rowsOf[row]
	for _, r := range rows {
		first.add(r)
	}
	made := func(rows []row) float64 {
		return testing.AllocsPerRun(1, func() {
			var second rowsOf[row]
			second.shapeLike(&first.block)
			for _, r := range rows {
				second.add(r)
			}
		})
	}
	if empty, full := made(nil), made(rows); full > empty {
		t.Errorf("%v allocations made it, and %v with its rows", empty, full)
	}
}
