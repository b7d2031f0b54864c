package verify

import (
	"encoding/binary"
	"encoding/hex"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// erasures checks that a proven fact names each expired record. Without this check, anybody could
// hide a record by marking it as erased.
type erasures struct {
	found *findings
	gone  []gone
	named map[naming]remnant
}

// gone is an expired record.
type gone struct {
	line    int64
	erasure string
	leaf    uint64
}

// naming is the pair of an erasure and a leaf, both hashed.
type naming struct{ erasure, leaf uint64 }

// remnant is the sequence of a record in an erasure fact.
type remnant struct {
	stream   stream
	sequence *int64
}

func leafKey(h tlog.Hash) uint64 { return binary.BigEndian.Uint64(h[:]) }

func (e *erasures) expired(l *line) {
	e.gone = append(e.gone, gone{l.number, l.record.Erased, leafKey(l.record.Leaf)})
}

// apply adds a fact of a tenant. An erasure can have several facts.
func (e *erasures) apply(tenant string, f *schema.ErasureApplied) {
	if e.named == nil {
		e.named = make(map[naming]remnant)
	}
	erasure := hashOf(tenant, f.ErasureID)
	for i := range f.Records {
		r := &f.Records[i]
		var h tlog.Hash
		if len(r.Leaf) != 2*len(h) {
			continue
		}
		if _, err := hex.Decode(h[:], []byte(r.Leaf)); err == nil {
			e.named[naming{erasure, leafKey(h)}] = remnant{stream{tenant, r.SessionID, r.Source}, r.SourceSequence}
		}
	}
}

// finish checks the expired records of a tenant, and passes their sequences to completeness.
func (e *erasures) finish(v *verifier) {
	unseen := 0
	for _, g := range e.gone {
		r, named := e.named[naming{hashOf(schema.TenantOf(v.header.Scope.Tenant), g.erasure), g.leaf}]
		switch {
		case named && r.sequence != nil:
			rangesOf(v.facts.sealed.erased, r.stream).add(*r.sequence)
			v.facts.sealed.placed++
		case named && r.stream.source == "":
			v.facts.sealed.unplaced++
		case named:
		case v.totals.withheld > 0:
			unseen++
			v.facts.sealed.unplaced++
		case v.facts.lost:
			unseen++ // its fact may be among the altered records
			v.facts.sealed.unplaced++
		default:
			e.found.faultf(Inclusion, pack.EventsFile, g.line, "is marked as erased by %s, but no fact of this erasure in the pack names it", quote(g.erasure))
		}
	}
	if len(e.gone) > 0 && unseen < len(e.gone) {
		e.found.note(Inclusion, "expired records named by proven erasure facts: %d", len(e.gone)-unseen)
	}
	if unseen > 0 {
		e.found.note(Inclusion, "expired records with erasure facts that cannot be read: %d", unseen)
	}
}
