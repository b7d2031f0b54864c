package importer

import (
	"hash/maphash"
	"math"
	"slices"
)

// codexRepeats finds lines that stand above already. Equal lines have equal
// times, so one that is newer than all above is new, and only its hash is kept;
// a set is built where a line is older.
type codexRepeats struct {
	latest int64        // time of the newest line, in nanoseconds
	same   []uint64     // lines of that time, as far as they are few
	lines  list[uint64] // all, until seen holds them
	seen   idSet
}

const maxSameTime = 32

func newCodexRepeats() codexRepeats { return codexRepeats{latest: math.MinInt64} }

// first reports whether the line of an entry is new.
func (r *codexRepeats) first(e *codexEntry, text []byte) bool {
	h := maphash.Bytes(hashSeed, text)
	at := e.at.UnixNano()
	if r.seen == nil && !e.untold {
		if at > r.latest {
			r.latest, r.same = at, r.same[:0]
		}
		if at == r.latest && len(r.same) < maxSameTime {
			if slices.Contains(r.same, h) {
				return false
			}
			r.same = append(r.same, h)
			r.lines.add(h)
			return true
		}
	}
	if r.seen == nil {
		r.seen = make(idSet, r.lines.len())
		for _, line := range r.lines.all() {
			r.seen.add(*line)
		}
		r.lines = list[uint64]{}
	}
	return r.seen.add(h)
}
