package column

import (
	"encoding/binary"
	"fmt"
)

// Pick returns a block of the rows that take names, in their order. The two share
// nothing.
func (b *Block) Pick(take []bool) *Block {
	picked := &Block{}
	for i, c := range b.Columns {
		column := pickColumn(c.column, take)
		picked.Columns = append(picked.Columns, BlockColumn{column, c.offset})
		input := b.Input[i]
		input.Data = column
		picked.Input = append(picked.Input, input)
	}
	for _, taken := range take {
		if taken {
			picked.Rows++
		}
	}
	return picked
}

// pickColumn returns a column of the values that take names.
func pickColumn(c column, take []bool) column {
	switch c := c.(type) {
	case *FixedColumn:
		return c.pick(take)
	case *textColumn:
		return c.pick(take)
	case *nullableColumn:
		picked := &nullableColumn{values: pickColumn(c.values, take)}
		for i, null := range c.nulls {
			if take[i] {
				picked.nulls = append(picked.nulls, null)
			}
		}
		return picked
	case *arrayColumn:
		picked := &arrayColumn{size: c.size}
		var values []bool
		picked.ends, values = pickLists(c.ends, take)
		picked.values = pickColumn(c.values, values)
		return picked
	case *mapColumn[string]:
		return c.pick(take)
	case *mapColumn[float64]:
		return c.pick(take)
	case *mapColumn[uint64]:
		return c.pick(take)
	}
	panic(fmt.Sprintf("no rows can be picked of a %T", c))
}

func (c *FixedColumn) pick(take []bool) *FixedColumn {
	picked := &FixedColumn{base: c.base, width: c.width}
	for i, taken := range take {
		if taken {
			picked.Bytes = append(picked.Bytes, c.Bytes[i*c.width:(i+1)*c.width]...)
		}
	}
	return picked
}

func (c *textColumn) pick(take []bool) *textColumn {
	picked, rest := &textColumn{}, c.bytes
	for _, taken := range take {
		_, after := cutText(rest)
		if taken {
			picked.bytes = append(picked.bytes, rest[:len(rest)-len(after)]...)
			picked.rows++
		}
		rest = after
	}
	return picked
}

func (c *mapColumn[V]) pick(take []bool) *mapColumn[V] {
	ends, values := pickLists(c.ends, take)
	return &mapColumn[V]{ends: ends, names: *c.names.pick(values), values: pickColumn(c.values, values)}
}

// pickLists returns where the lists that take names end among their own values,
// and which of all values those are.
func pickLists(ends []byte, take []bool) (picked []byte, values []bool) {
	var begin, kept uint64
	for i, taken := range take {
		end := binary.LittleEndian.Uint64(ends[8*i:])
		for range end - begin {
			values = append(values, taken)
		}
		if taken {
			kept += end - begin
			picked = binary.LittleEndian.AppendUint64(picked, kept)
		}
		begin = end
	}
	return picked, values
}
