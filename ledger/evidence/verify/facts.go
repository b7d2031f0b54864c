package verify

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/schema"
)

// facts is what later questions need of the records.
type facts struct {
	choices  conservation
	sealed   completeness
	redacted redactions
	erasures erasures
	// lost says that not all records could be seen as they were.
	lost bool
	// lacking are the things that records name and none describes.
	lacking []document.Thing
}

func (f *facts) begin(v *verifier) {
	f.choices = conservation{found: v.found, open: make(map[uint64]*choice)}
	f.sealed = completeness{found: v.found, seen: make(map[stream]*ranges), dropped: make(map[stream]*ranges), erased: make(map[stream]*ranges), elsewhere: make(map[stream]*ranges)}
	f.redacted = redactions{found: v.found, withheld: make(map[uint64]int64), content: make(map[uint64]int64)}
	f.erasures = erasures{found: v.found}
}

// see takes a record that is as the log has it.
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
	case *schema.ItemAdded:
		f.redacted.item(e, &fact.Item, l.number)
	case *schema.ItemUpdated:
		f.redacted.item(e, &fact.Item, l.number)
	case *schema.ErasureApplied:
		f.erasures.apply(schema.TenantOf(e.Tenant), fact)
	}
}

// finish answers what only the end of the records answers.
func (f *facts) finish(v *verifier) {
	f.choices.finish(v)
	f.erasures.finish(v)
	f.sealed.finish(v)
}

// hashOf shortens what identifies something: tables of it stay small.
func hashOf(parts ...string) uint64 {
	var b []byte
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
