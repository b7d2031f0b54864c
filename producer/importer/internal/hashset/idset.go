package hashset

// IDSet is a set of ids by their hashes, or by a number where they count up:
// such ids, which have the bit [Numbered], need a bit each. The zero value is an
// empty set.
type IDSet struct {
	numbers NumberSet
	hashes  HashSet
}

// Numbered marks what stands for an id that is a number, which is the rest of
// it. No hash has the bit.
const Numbered = 1 << 63

// Add reports whether id was not in the set.
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

// NumberSet is a set of numbers that lie close, such as lines of a log. The zero
// value is an empty set.
type NumberSet map[uint64]uint64

// Add reports whether n was not in the set.
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
