package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"hash/maphash"
)

// codexRepeats finds lines that repeat earlier lines. Pass 1 compares the hashes of all lines.
// Pass 2 uses the result of pass 1.
type codexRepeats struct {
	seen     hashset.HashSet
	repeated hashset.NumberSet // numbers of the repeated lines
	found    bool
}

// First reports whether the line is not a repetition. number is the line's number.
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

// Forget frees the values that only pass 1 needs.
func (r *codexRepeats) Forget() { r.seen, r.found = hashset.HashSet{}, true }
