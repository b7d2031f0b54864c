package facts

import (
	"maps"

	"github.com/ctxledger/ctxledger/schema"
)

// A fact whose lists are too long for one event is recorded in parts with one
// record id, and nothing is cut. A selection numbers them in part and parts, as
// the contract has it; all others do so in metadata, under the same names, and
// what is not a list stands in the first part alone, unless it is required.

// MaxPartBytes is how much of an event its lists may fill, as estimated from
// above; the rest is for the other fields, and for placeholders that are longer
// than what they stand for.
const MaxPartBytes = schema.MaxEventBytes * 3 / 4

// What one element takes besides its texts, names and numbers included.
const (
	candidateBytes  = 96
	numberBytes     = 32
	segmentBytes    = 128
	blockBytes      = 192
	truncatedBytes  = 112
	elidedBytes     = 160
	largestEscape   = len(`\u0000`)
	quotesAndCommas = len(`"",`)
)

// Chunk divides a list, in order, into parts of at most limit bytes and at least
// one element. An empty list is one empty part.
func Chunk[E any](list []E, limit int, bytes func(E) int) [][]E {
	var parts [][]E
	from, sum := 0, 0
	for i, e := range list {
		size := bytes(e)
		if i > from && sum+size > limit {
			parts = append(parts, list[from:i:i])
			from, sum = i, 0
		}
		sum += size
	}
	return append(parts, list[from:len(list):len(list)])
}

// PartOf numbers part i, from 0, of n in a fact's metadata; a whole has no
// number.
func PartOf(i, n int) map[string]any {
	if n == 1 {
		return nil
	}
	return map[string]any{"part": i + 1, "parts": n}
}

func Joined(a, b map[string]any) map[string]any {
	all := maps.Clone(b)
	maps.Copy(all, a)
	return all
}

func RefBytes(r schema.Ref) int { return TextBytes(string(r)) }

func truncationBytes(t schema.Truncation) int {
	return truncatedBytes + RefBytes(t.ItemRef) + TextBytes(t.Reason)
}

// TextBytes is what a string takes in JSON, with quotes and a comma, or more.
func TextBytes(s string) int {
	n := quotesAndCommas + len(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			n += largestEscape - 1
		}
	}
	return n
}
