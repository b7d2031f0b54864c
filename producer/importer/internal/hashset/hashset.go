package hashset

import "math/bits"

const (
	hashTables = 256  // tables of a large set
	fewHashes  = 4096 // most hashes that one table holds
)

// HashSet is a set of hashes, for values that every record of a log has. A hash needs 11 to 16
// bytes. The zero value is an empty set.
type HashSet struct {
	few    hashTable              // the only table while the set is small
	tables *[hashTables]hashTable // by the first bits of a hash; growing copies one small table only
}

// Add adds the hash and reports whether it was new.
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

// hashShift selects the 8 bits after the first bit, which no hash of package model has.
const hashShift = 63 - 8

func (s *HashSet) Has(hash uint64) bool {
	t := &s.few
	if s.tables != nil {
		t = &s.tables[hash>>hashShift]
	}
	return len(t.slots) > 0 && t.slots[t.find(hash)] != 0
}

// hashTable holds hashes other than 0. A hash lies in its slot or in the first free slot after
// it. At least a quarter of the slots is free.
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

// find returns the slot of the hash, or the free slot for it.
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
