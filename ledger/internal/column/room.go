package column

// ShapeLike gives the block the columns of another one, and as much room.
func (b *Block) ShapeLike(o *Block) {
	for i, c := range o.Columns {
		made := c.column.alike()
		b.Columns = append(b.Columns, BlockColumn{made, c.offset})
		input := o.Input[i]
		input.Data = made
		b.Input = append(b.Input, input)
	}
}

// room returns an empty slice with room for as many elements as s has, and an eighth
// more.
func room[E any](s []E) []E { return make([]E, 0, len(s)+len(s)/8) }

func (c *FixedColumn) alike() column {
	return &FixedColumn{base: c.base, width: c.width, Bytes: room(c.Bytes)}
}

func (c *textColumn) alike() column { return &textColumn{bytes: room(c.bytes)} }

func (c *nullableColumn) alike() column {
	return &nullableColumn{nulls: room(c.nulls), values: c.values.alike()}
}

func (c *arrayColumn) alike() column {
	return &arrayColumn{size: c.size, ends: room(c.ends), values: c.values.alike()}
}

func (c *mapColumn[V]) alike() column {
	return &mapColumn[V]{ends: room(c.ends), names: textColumn{bytes: room(c.names.bytes)}, values: c.values.alike()}
}
