package ledger

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/ClickHouse/ch-go/proto"
	"pgregory.net/rapid"
)

// everyKind is a row with a column of each kind.
type everyKind struct {
	Number uint64             `ch:"number"`
	Flag   bool               `ch:"flag"`
	Text   string             `ch:"text"`
	Known  *int64             `ch:"known"`
	Names  []string           `ch:"names"`
	Known2 []*string          `ch:"known2"`
	Deep   [][]uint64         `ch:"deep"`
	Words  map[string]string  `ch:"words"`
	Prices map[string]float64 `ch:"prices"`
	Counts map[string]uint64  `ch:"counts"`
}

// TestPickedRowsAreThoseRows holds a block of picked rows against one that was made
// of these rows alone.
func TestPickedRowsAreThoseRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Make[everyKind](), 0, 20).Draw(t, "rows")
		take := rapid.SliceOfN(rapid.Bool(), len(rows), len(rows)).Draw(t, "take")
		var all, want rowsOf[everyKind]
		all.shape(reflect.TypeFor[everyKind]())
		want.shape(reflect.TypeFor[everyKind]())
		for i, row := range rows {
			all.add(row)
			if take[i] {
				want.add(row)
			}
		}
		got := all.pick(take)
		if got.rows != want.rows || !bytes.Equal(encoded(got), encoded(&want.block)) {
			t.Fatalf("picked %d rows, want %d, or others", got.rows, want.rows)
		}
		for i, c := range got.input {
			if c.Name != want.input[i].Name || c.Data.Rows() != want.rows {
				t.Fatalf("column %s has %d rows, want %d", c.Name, c.Data.Rows(), want.rows)
			}
		}
	})
}

func encoded(b *block) []byte {
	var to proto.Buffer
	for _, c := range b.input {
		c.Data.EncodeColumn(&to)
	}
	return to.Buf
}
