package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"hash/maphash"
)

// codexRepeats finds lines that stand above already: pass 1 by the hashes of all
// lines, pass 2 by what pass 1 found.
type codexRepeats struct {
	seen     hashset.HashSet
	repeated hashset.NumberSet // numbers of the lines that are not new
	found    bool
}

// First reports whether the line of that number is new.
func (r *codexRepeats) First(text []byte, number int) bool {
	if r.found {
		return !r.repeated.Has(uint64(number))
	}
	if r.seen.Add(model.Folded(maphash.Bytes(model.HashSeed, text))) {
		return true
	}
	r.repeated.Add(uint64(number))
	return false
}

// Forget gives back what only pass 1 needs.
func (r *codexRepeats) Forget() { r.seen, r.found = hashset.HashSet{}, true }
