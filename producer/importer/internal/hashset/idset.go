package hashset

// IDSet is a set of ids. An id is a hash, or a consecutive number with the bit [Numbered]. A
// numbered id needs one bit. The zero value is an empty set.
type IDSet struct {
	numbers NumberSet
	hashes  HashSet
}

// Numbered marks an id that is a number. The other bits are the number. No hash has this bit.
const Numbered = 1 << 63

// Add adds the id and reports whether it was new.
func (s *IDSet) Add(id uint64) bool {
	if id&Numbered != 0 {
		return s.numbers.Add(id &^ Numbered)
	}
	return s.hashes.Add(id)
}

// Has reports whether the set has an id.
func (s *IDSet) Has(id uint64) bool {
	if id&Numbered != 0 {
		return s.numbers.Has(id &^ Numbered)
	}
	return s.hashes.Has(id)
}

// NumberSet is a set of numbers with small distances, such as lines of a log. The zero value is
// an empty set.
type NumberSet map[uint64]uint64

// Add adds n and reports whether n was new.
func (s *NumberSet) Add(n uint64) bool {
	if *s == nil {
		*s = make(NumberSet)
	}
	bit := uint64(1) << (n & 63)
	bits := (*s)[n>>6]
	if bits&bit != 0 {
		return false
	}
	(*s)[n>>6] = bits | bit
	return true
}

func (s NumberSet) Has(n uint64) bool { return s[n>>6]&(1<<(n&63)) != 0 }

func (s NumberSet) Remove(n uint64) {
	if bits, ok := s[n>>6]; ok {
		s[n>>6] = bits &^ (1 << (n & 63))
	}
}

// AddAll adds the numbers of another set.
func (s *NumberSet) AddAll(other NumberSet) {
	if *s == nil {
		*s = make(NumberSet)
	}
	for block, bits := range other {
		(*s)[block] |= bits
	}
}
