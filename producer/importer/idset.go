package importer

// idSet is a set of ids by their hashes, or by a number where they count up:
// such ids, which have the bit [numbered], need a bit each. The zero value is an
// empty set.
type idSet struct {
	numbers numberSet
	hashes  hashSet
}

// numbered marks what stands for an id that is a number, which is the rest of
// it. No hash has the bit.
const numbered = 1 << 63

// add reports whether id was not in the set.
func (s *idSet) add(id uint64) bool {
	if id&numbered != 0 {
		return s.numbers.add(id &^ numbered)
	}
	return s.hashes.add(id)
}

// has reports whether the set has an id.
func (s *idSet) has(id uint64) bool {
	if id&numbered != 0 {
		return s.numbers.has(id &^ numbered)
	}
	return s.hashes.has(id)
}

// numberSet is a set of numbers that lie close, such as lines of a log. The zero
// value is an empty set.
type numberSet map[uint64]uint64

// add reports whether n was not in the set.
func (s *numberSet) add(n uint64) bool {
	if *s == nil {
		*s = make(numberSet)
	}
	bit := uint64(1) << (n & 63)
	bits := (*s)[n>>6]
	if bits&bit != 0 {
		return false
	}
	(*s)[n>>6] = bits | bit
	return true
}

func (s numberSet) has(n uint64) bool { return s[n>>6]&(1<<(n&63)) != 0 }

func (s numberSet) remove(n uint64) {
	if bits, ok := s[n>>6]; ok {
		s[n>>6] = bits &^ (1 << (n & 63))
	}
}

// addAll adds the numbers of another set.
func (s *numberSet) addAll(other numberSet) {
	if *s == nil {
		*s = make(numberSet)
	}
	for block, bits := range other {
		(*s)[block] |= bits
	}
}
