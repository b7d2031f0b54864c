package importer

// idSet is a set of ids by their hashes, or by a number where they count up:
// such ids need a bit each. The zero value is an empty set.
type idSet map[uint64]uint64

// add reports whether id was not in the set.
func (s *idSet) add(id uint64) bool {
	if *s == nil {
		*s = make(idSet)
	}
	bit := uint64(1) << (id & 63)
	bits := (*s)[id>>6]
	if bits&bit != 0 {
		return false
	}
	(*s)[id>>6] = bits | bit
	return true
}

func (s idSet) has(id uint64) bool { return s[id>>6]&(1<<(id&63)) != 0 }
