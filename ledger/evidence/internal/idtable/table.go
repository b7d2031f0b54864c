// Package idtable maps millions of ids to small numbers, without pointers for the garbage
// collector. Export and verification keep all ids of a pack in tables of this kind.
package idtable

import "hash/maphash"

var seed = maphash.MakeSeed()

// Hash returns the key of an id in a [Table], valid in this process. The hash is seeded, so nobody
// can prepare two ids with the same key.
func Hash(id string) uint64 { return maphash.String(seed, id) }

// HashBytes is [Hash] for an id in bytes.
func HashBytes(id []byte) uint64 { return maphash.Bytes(seed, id) }

// Table holds a number for each id. The zero value is empty. Concurrent reads are safe.
type Table struct {
	// A slot holds 62 bits of a hash and the number. The index of a slot comes from the hash. If
	// this slot is taken, the next free slot is used. 0 is a free slot. At least a third of the
	// slots are free.
	slots []uint64
	count int
}

// number is the mask of the number in a slot.
const number = 3

// slot returns the slot of a hash, or a free slot for the hash.
func (t *Table) slot(hash uint64) *uint64 {
	for at := hash >> 2; ; at++ {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if *s == 0 || *s&^number == hash&^number {
			return s
		}
	}
}

// Get returns the number of an id, 0 for an unknown id.
func (t *Table) Get(hash uint64) uint8 {
	if t.count == 0 {
		return 0
	}
	return uint8(*t.slot(hash) & number)
}

// Set sets the number of an id, from 1 to 3.
func (t *Table) Set(hash uint64, n uint8) {
	if 3*t.count >= 2*len(t.slots) {
		t.grow()
	}
	s := t.slot(hash)
	if *s == 0 {
		t.count++
	}
	*s = hash&^number | uint64(n)
}

func (t *Table) grow() {
	old := t.slots
	t.slots = make([]uint64, max(1024, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			*t.slot(s) = s
		}
	}
}

// Count returns the number of ids with the number n.
func (t *Table) Count(n uint8) (count uint64) {
	for _, s := range t.slots {
		if s != 0 && s&number == uint64(n) {
			count++
		}
	}
	return count
}
