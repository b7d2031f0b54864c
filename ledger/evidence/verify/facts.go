package verify

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/schema"
)

// facts collects the data of the records for later questions.
type facts struct {
	choices  conservation
	sealed   completeness
	redacted redactions
	erasures erasures
	// lost means that some records could not be read unaltered.
	lost bool
	// lacking are the ids that records name and no record describes.
	lacking []document.Thing
}

func (f *facts) begin(v *verifier) {
	f.choices = conservation{found: v.found, open: make(map[uint64]*choice)}
	f.sealed = completeness{found: v.found, seen: make(map[stream]*ranges), dropped: make(map[stream]*ranges), erased: make(map[stream]*ranges), elsewhere: make(map[stream]*ranges)}
	f.redacted = redactions{found: v.found, withheld: make(map[uint64]int64), targets: make(map[uint64]string), content: make(map[uint64]int64)}
	f.erasures = erasures{found: v.found}
}

// see adds a record that matches the log.
func (f *facts) see(l *line) {
	e := l.record.Event
	if e == nil {
		if l.record.Erased != "" {
			f.erasures.expired(l)
		}
		return
	}
	f.sealed.sequence(e)
	switch fact := l.read.Fact.(type) {
	case *schema.SelectionStarted:
		f.choices.considered(e, &fact.Selection)
	case *schema.SelectionCompleted:
		f.choices.decided(e, fact, l.number)
	case *schema.EnvelopeCreated:
		f.sealed.seal(e, fact, l.number)
	case *schema.FactsDropped:
		f.sealed.drop(e, fact)
	case *schema.RedactionApplied:
		f.redacted.apply(e, fact, l.number)
	case *schema.RedactionRevoked:
		f.redacted.revoke(fact)
	case *schema.ItemAdded:
		f.redacted.item(e, &fact.Item, l.number)
	case *schema.ItemUpdated:
		f.redacted.item(e, &fact.Item, l.number)
	case *schema.ErasureApplied:
		f.erasures.apply(schema.TenantOf(e.Tenant), fact)
	}
}

// finish answers the questions that need all records.
func (f *facts) finish(v *verifier) {
	f.choices.finish(v)
	f.erasures.finish(v)
	f.sealed.finish(v)
}

// hashOf hashes an identity, which keeps tables of identities small.
func hashOf(parts ...string) uint64 {
	var b []byte
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
