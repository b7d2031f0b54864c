package ledger

// NewBatch returns an empty batch with room for what like holds, and some more: the
// batches of a stream are much alike, and columns that grow as rows come are copied
// several times over, into memory that has to be fetched. Nil is like nothing. The
// two share nothing; like may be written meanwhile.
func NewBatch(like *Batch) *Batch {
	b := new(Batch)
	if like != nil {
		models := like.tables()
		for i, t := range b.tables() {
			t.shapeLike(models[i].block)
		}
	}
	return b
}

// shapeLike gives the block the columns of another one, and as much room.
func (b *block) shapeLike(o *block) {
	for i, c := range o.columns {
		made := c.column.alike()
		b.columns = append(b.columns, blockColumn{made, c.offset})
		input := o.input[i]
		input.Data = made
		b.input = append(b.input, input)
	}
}

// room returns an empty slice with room for as many elements as s has, and an eighth
// more.
func room[E any](s []E) []E { return make([]E, 0, len(s)+len(s)/8) }

func (c *fixedColumn) alike() column {
	return &fixedColumn{base: c.base, width: c.width, bytes: room(c.bytes)}
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
