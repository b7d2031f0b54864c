package hashset

import "math/bits"

const (
	hashTables = 256  // of a large set
	fewHashes  = 4096 // that one table holds
)

// HashSet is a set of hashes, for what there is of each record of a log: a hash
// needs 11 to 16 bytes. The zero value is an empty set.
type HashSet struct {
	few    hashTable              // as long as there are few
	tables *[hashTables]hashTable // by the first bits of a hash, so that only a small one is copied to grow
}

// Add reports whether the hash was not in the set.
func (s *HashSet) Add(hash uint64) bool {
	if s.tables != nil {
		return s.tables[hash>>hashShift].Add(hash)
	}
	if s.few.used == fewHashes {
		s.tables = new([hashTables]hashTable)
		for _, h := range s.few.slots {
			if h != 0 {
				s.tables[h>>hashShift].Add(h)
			}
		}
		s.few = hashTable{}
		return s.Add(hash)
	}
	return s.few.Add(hash)
}

// hashShift leaves the 8 bits behind the first one, which no hash of package model has.
const hashShift = 63 - 8

func (s *HashSet) Has(hash uint64) bool {
	t := &s.few
	if s.tables != nil {
		t = &s.tables[hash>>hashShift]
	}
	return len(t.slots) > 0 && t.slots[t.find(hash)] != 0
}

// hashTable holds hashes, none of which is 0, each at the first free slot from
// its own on. At least a quarter of the slots is free.
type hashTable struct {
	slots []uint64
	used  int
}

func (t *hashTable) Add(hash uint64) bool {
	if 4*(t.used+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]uint64, max(16, len(old)+len(old)/2))
		for _, h := range old {
			if h != 0 {
				t.slots[t.find(h)] = h
			}
		}
	}
	at := t.find(hash)
	if t.slots[at] != 0 {
		return false
	}
	t.slots[at] = hash
	t.used++
	return true
}

// find is the slot that holds the hash, or the free one that it belongs in.
func (t *hashTable) find(hash uint64) int {
	first, _ := bits.Mul64(hash<<9, uint64(len(t.slots)))
	at := int(first)
	for t.slots[at] != 0 && t.slots[at] != hash {
		if at++; at == len(t.slots) {
			at = 0
		}
	}
	return at
}
