package facts

import (
	"maps"

	"github.com/ctxledger/ctxledger/schema"
)

// A fact with lists that are too long for one event is recorded in parts with one record
// id. Nothing is cut. A selection numbers its parts in the fields part and parts, as in the
// contract. All other facts use the same names in metadata. Only the first part holds the
// other fields, except required ones.

// MaxPartBytes is the largest estimated size of the lists in an event. The estimate is an
// upper bound. The rest of the event is for the other fields, and for placeholders that are
// longer than the masked text.
const MaxPartBytes = schema.MaxEventBytes * 3 / 4

// Sizes of one element without its texts, including names and numbers.
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

// PartOf returns the number of part i, from 0, of n for a fact's metadata. A fact with one
// part has no number.
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

// TextBytes returns an upper bound of a string's size in JSON, with quotes and a comma.
func TextBytes(s string) int {
	n := quotesAndCommas + len(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			n += largestEscape - 1
		}
	}
	return n
}
