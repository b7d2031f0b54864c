package ledger

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/ctxledger/ctxledger/schema"
)

// block is what one table gets of a batch, column by column. It is sent as one,
// and reset for the next batch.
type block struct {
	rows    int
	columns []blockColumn
	input   proto.Input
}

// tableBlock is a block and the table that it is for.
type tableBlock struct {
	table string
	*block
}

// blockColumn is a column and where its values are in a row struct.
type blockColumn struct {
	column
	offset uintptr
}

// rowsOf is a block of rows of one struct, whose fields have the columns' names
// in their ch tags. The zero value is empty and has no columns yet. Not safe for
// concurrent use.
type rowsOf[R any] struct {
	block
	row R
}

// add appends a row. It keeps nothing that the row refers to.
func (r *rowsOf[R]) add(row R) {
	if r.columns == nil {
		r.shape(reflect.TypeFor[R]())
	}
	r.row = row
	r.take(unsafe.Pointer(&r.row))
	r.row = *new(R)
}

// blockOf returns a block of rows.
func BlockOf[R any](table string, rows ...R) tableBlock {
	b := new(rowsOf[R])
	for _, row := range rows {
		b.add(row)
	}
	return tableBlock{table, &b.block}
}

// shape gives the block the columns of a row struct.
func (b *block) shape(row reflect.Type) {
	for _, c := range columnsOf(row) {
		made := newColumn(c.of)
		b.columns = append(b.columns, blockColumn{made, c.offset})
		b.input = append(b.input, proto.InputColumn{Name: c.name, Data: made})
	}
}

// take appends the row that row points to, of the type that the block was shaped
// by.
func (b *block) take(row unsafe.Pointer) {
	for i := range b.columns {
		c := &b.columns[i]
		c.take(unsafe.Add(row, c.offset))
	}
	b.rows++
}

// reset empties the block and keeps its room.
func (b *block) reset() {
	b.rows = 0
	for i := range b.columns {
		b.columns[i].reset()
	}
}

// sent is the statement that sends the block, and its columns, without those that
// the server fills as well by itself: most are, in a block of few rows, and each
// costs it as much as many values.
func (b tableBlock) sent() (statement string, input proto.Input) {
	names := make([]string, 0, len(b.input))
	for i, c := range b.input {
		if !b.columns[i].idle() {
			names, input = append(names, c.Name), append(input, c)
		}
	}
	return "INSERT INTO " + b.table + " (" + strings.Join(names, ", ") + ") VALUES", input
}

// A rowColumn is one column of a row struct: its name in the table, and the
// field's type and place.
type rowColumn struct {
	name   string
	of     reflect.Type
	offset uintptr
}

// columnsOf reads the ch tags of a row struct. The fields of an embedded
// schema.Correlation take their names from [schema.CorrelationFields], which
// has the same order.
func columnsOf(row reflect.Type) []rowColumn {
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
			for _, c := range columnsOf(field.Type) {
				columns = append(columns, rowColumn{c.name, c.of, field.Offset + c.offset})
			}
		default:
			columns = append(columns, rowColumn{field.Tag.Get("ch"), field.Type, field.Offset})
		}
	}
	return columns
}
