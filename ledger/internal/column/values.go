package column

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Numbers returns the values of a column of numbers or times.
func (b *Block) Numbers(name string) []uint64 {
	for i, c := range b.Input {
		if c.Name != name {
			continue
		}
		bytes := b.Columns[i].column.(*FixedColumn).Bytes
		values := make([]uint64, 0, len(bytes)/8)
		for ; len(bytes) > 0; bytes = bytes[8:] {
			values = append(values, binary.LittleEndian.Uint64(bytes))
		}
		return values
	}
	return nil
}

// Texts returns the values of a column of text.
func (b *Block) Texts(name string) []string {
	for i, c := range b.Input {
		if c.Name != name {
			continue
		}
		text := b.Columns[i].column.(*textColumn)
		values := make([]string, 0, text.rows)
		for rest := text.bytes; len(rest) > 0; {
			var s []byte
			s, rest = cutText(rest)
			values = append(values, string(s))
		}
		return values
	}
	return nil
}

// IDs returns the values of a column of ids, of which each is two numbers.
func (b *Block) IDs(name string) []uuid.UUID {
	halves := b.Numbers(name)
	ids := make([]uuid.UUID, len(halves)/2)
	for i := range ids {
		binary.BigEndian.PutUint64(ids[i][:8], halves[2*i])
		binary.BigEndian.PutUint64(ids[i][8:], halves[2*i+1])
	}
	return ids
}
