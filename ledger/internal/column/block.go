package column

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/ctxledger/ctxledger/schema"
)

// Block holds the rows of a batch for one table, column by column. A block is sent whole, and
// reset for the next batch.
type Block struct {
	Rows    int
	Columns []BlockColumn
	Input   proto.Input
}

// Table is a block and the table that it is for.
type Table struct {
	Table string
	*Block
}

// Of returns the block with the table that it is for.
func (b *Block) Of(table string) Table { return Table{table, b} }

// BlockColumn is a column and where its values are in a row struct.
type BlockColumn struct {
	column
	offset uintptr
}

// Rows is a block of rows of one struct, whose fields have the columns' names
// in their ch tags. The zero value is empty and has no columns yet. Not safe for
// concurrent use.
type Rows[R any] struct {
	Block
	row R
}

// Add appends a row. The block keeps no reference to the row.
func (r *Rows[R]) Add(row R) {
	if r.Columns == nil {
		r.Shape(reflect.TypeFor[R]())
	}
	r.row = row
	r.Take(unsafe.Pointer(&r.row))
	r.row = *new(R)
}

// TableOf returns a block of rows.
func TableOf[R any](table string, rows ...R) Table {
	b := new(Rows[R])
	for _, row := range rows {
		b.Add(row)
	}
	return Table{table, &b.Block}
}

// Shape gives the block the columns of a row struct.
func (b *Block) Shape(row reflect.Type) {
	for _, c := range ColumnsOf(row) {
		made := newColumn(c.Of)
		b.Columns = append(b.Columns, BlockColumn{made, c.Offset})
		b.Input = append(b.Input, proto.InputColumn{Name: c.Name, Data: made})
	}
}

// Take appends the row behind the pointer row. Its type is the type of the block.
func (b *Block) Take(row unsafe.Pointer) {
	for i := range b.Columns {
		c := &b.Columns[i]
		c.Take(unsafe.Add(row, c.offset))
	}
	b.Rows++
}

// Reset empties the block and keeps its room.
func (b *Block) Reset() {
	b.Rows = 0
	for i := range b.Columns {
		b.Columns[i].Reset()
	}
}

// Sent is the statement that sends the block, and its columns. Columns with only default values
// are left out: the server fills them, and each column costs as much as many values.
func (b Table) Sent() (statement string, input proto.Input) {
	names := make([]string, 0, len(b.Input))
	for i, c := range b.Input {
		if !b.Columns[i].idle() {
			names, input = append(names, c.Name), append(input, c)
		}
	}
	return "INSERT INTO " + b.Table + " (" + strings.Join(names, ", ") + ") VALUES", input
}

// A rowColumn is one column of a row struct: its name in the table, and the
// field's type and place.
type rowColumn struct {
	Name   string
	Of     reflect.Type
	Offset uintptr
}

// ColumnsOf reads the ch tags of a row struct. The fields of an embedded
// schema.Correlation take their names from [schema.CorrelationFields], which
// has the same order.
func ColumnsOf(row reflect.Type) []rowColumn {
	var columns []rowColumn
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Type == reflect.TypeFor[schema.Correlation]():
			for j, c := range schema.CorrelationFields {
				inner := field.Type.Field(j)
				columns = append(columns, rowColumn{c.Column, inner.Type, field.Offset + inner.Offset})
			}
		case field.Anonymous:
			for _, c := range ColumnsOf(field.Type) {
				columns = append(columns, rowColumn{c.Name, c.Of, field.Offset + c.Offset})
			}
		default:
			columns = append(columns, rowColumn{field.Tag.Get("ch"), field.Type, field.Offset})
		}
	}
	return columns
}
