// Package idtable keeps what is known of millions of ids, in some 16 bytes each and
// with nothing for the garbage collector to look at: a pack of a million records names
// more ids than that, and exporting and verifying hold them all.
package idtable

import "hash/maphash"

var seed = maphash.MakeSeed()

// Hash shortens an id to what a [Table] knows it by, in this process: nobody can
// foresee it, and so make two ids that have the same.
func Hash(id string) uint64 { return maphash.String(seed, id) }

// HashBytes is [Hash] of an id that is bytes.
func HashBytes(id []byte) uint64 { return maphash.Bytes(seed, id) }

// Table has a number for each id. The zero value is empty. Reading it concurrently is
// safe.
type Table struct {
	// slots are 62 bits of a hash and the number, at the place that the hash says or at
	// the next that was free; 0 is free. At least a third of them is.
	slots []uint64
	count int
}

// number is where the number stands in a slot.
const number = 3

// slot returns the place of a hash: its own, or the free one where it would be.
func (t *Table) slot(hash uint64) *uint64 {
	for at := hash >> 2; ; at++ {
		s := &t.slots[at&uint64(len(t.slots)-1)]
		if *s == 0 || *s&^number == hash&^number {
			return s
		}
	}
}

// Get returns the number of an id, 0 where it has none.
func (t *Table) Get(hash uint64) uint8 {
	if t.count == 0 {
		return 0
	}
	return uint8(*t.slot(hash) & number)
}

// Set gives an id a number from 1 to 3.
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

// Count returns how many ids have the number n.
func (t *Table) Count(n uint8) (count uint64) {
	for _, s := range t.slots {
		if s != 0 && s&number == uint64(n) {
			count++
		}
	}
	return count
}
