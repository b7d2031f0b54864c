package column

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

// TestPickedRowsAreThoseRows compares a block of picked rows with a block made only of these rows.
func TestPickedRowsAreThoseRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Make[everyKind](), 0, 20).Draw(t, "rows")
		take := rapid.SliceOfN(rapid.Bool(), len(rows), len(rows)).Draw(t, "take")
		var all, want Rows[everyKind]
		all.Shape(reflect.TypeFor[everyKind]())
		want.Shape(reflect.TypeFor[everyKind]())
		for i, row := range rows {
			all.Add(row)
			if take[i] {
				want.Add(row)
			}
		}
		got := all.Pick(take)
		if got.Rows != want.Rows || !bytes.Equal(encoded(got), encoded(&want.Block)) {
			t.Fatalf("picked %d rows, want %d, or others", got.Rows, want.Rows)
		}
		for i, c := range got.Input {
			if c.Name != want.Input[i].Name || c.Data.Rows() != want.Rows {
				t.Fatalf("column %s has %d rows, want %d", c.Name, c.Data.Rows(), want.Rows)
			}
		}
	})
}

func encoded(b *Block) []byte {
	var to proto.Buffer
	for _, c := range b.Input {
		c.Data.EncodeColumn(&to)
	}
	return to.Buf
}

// TestShapedAlike: a block with the shape of another block is empty and accepts the same rows.
func TestShapedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var first, second Rows[everyKind]
		for range 2 {
			rows := rapid.SliceOfN(rapid.Make[everyKind](), 1, 20).Draw(t, "rows")
			first, second = Rows[everyKind]{}, Rows[everyKind]{}
			for _, row := range rows {
				first.Add(row)
			}
			want := encoded(&first.Block)
			second.ShapeLike(&first.Block)
			if got := encoded(&second.Block); second.Rows != 0 || len(got) != 0 {
				t.Fatalf("%d rows and %d bytes are in it before any came", second.Rows, len(got))
			}
			for _, row := range rows {
				second.Add(row)
			}
			if !bytes.Equal(encoded(&second.Block), want) || !bytes.Equal(encoded(&first.Block), want) {
				t.Fatal("they hold other rows")
			}
		}
	})
}
