package verify

import (
	"encoding/binary"
	"encoding/hex"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// erasures sees that what is expired was erased by what it says, as far as the
// erasure is in the pack.
type erasures struct {
	found  *findings
	gone   []gone
	listed map[uint64]map[uint64]struct{} // leaves by erasure, both shortened
}

// gone is an expired record.
type gone struct {
	line    int64
	erasure string
	leaf    uint64
}

func leafKey(h tlog.Hash) uint64 { return binary.BigEndian.Uint64(h[:]) }

func (e *erasures) expired(l *line) {
	e.gone = append(e.gone, gone{l.number, l.record.Erased, leafKey(l.record.Leaf)})
}

func (e *erasures) apply(f *schema.ErasureApplied) {
	if e.listed == nil {
		e.listed = make(map[uint64]map[uint64]struct{})
	}
	leaves := make(map[uint64]struct{}, len(f.Records))
	for i := range f.Records {
		var h tlog.Hash
		if n, err := hex.Decode(h[:], []byte(f.Records[i].Leaf[:min(len(f.Records[i].Leaf), 2*len(h))])); err == nil && n == len(h) {
			leaves[leafKey(h)] = struct{}{}
		}
	}
	e.listed[hashOf(f.ErasureID)] = leaves
}

func (e *erasures) finish() {
	elsewhere := 0
	for _, g := range e.gone {
		leaves, here := e.listed[hashOf(g.erasure)]
		if !here {
			elsewhere++
		} else if _, listed := leaves[g.leaf]; !listed {
			e.found.faultf(Inclusion, pack.EventsFile, g.line, "is expired, and the erasure %s does not list it", quote(g.erasure))
		}
	}
	if elsewhere > 0 {
		e.found.note(Inclusion, "%d expired records were erased by facts that are not in the pack", elsewhere)
	}
}
