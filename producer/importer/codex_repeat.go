package importer

import "hash/maphash"

// codexRepeats finds lines that stand above already: pass 1 by the hashes of all
// lines, pass 2 by what pass 1 found.
type codexRepeats struct {
	seen     hashSet
	repeated numberSet // numbers of the lines that are not new
	found    bool
}

// first reports whether the line of that number is new.
func (r *codexRepeats) first(text []byte, number int) bool {
	if r.found {
		return !r.repeated.has(uint64(number))
	}
	if r.seen.add(folded(maphash.Bytes(hashSeed, text))) {
		return true
	}
	r.repeated.add(uint64(number))
	return false
}

// forget gives back what only pass 1 needs.
func (r *codexRepeats) forget() { r.seen, r.found = hashSet{}, true }
