package projector

import (
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// message is one message of the stream with its place.
type message struct {
	subject  string
	header   map[string][]string
	data     []byte
	position ledger.Position
	arrived  time.Time // of the first of a batch
	digest   [32]byte  // see sum
	summed   bool
	kept     *ledger.Refusal // what quarantine has of it, where the stream no longer does
	erased   *erasedLeaf     // it was erased and the stream no longer has it
	rules    ledger.Rules    // that hold at its place
}

func (m *message) size() int { return len(m.subject) + len(m.data) + 64*len(m.header) }

func month(m *message) int {
	t := m.position.RecordedAt
	return t.Year()*12 + int(t.Month())
}

// erasedLeaf is the leaf of an erased message, and its tenant. The zero hash is no leaf.
type erasedLeaf struct {
	hash   tlog.Hash
	tenant string
}

// subjectTenant is the tenant of the message's subject, "" where it has none. By
// [ledger.EnvelopeRules] a subject that is none of the contract's has none.
func (m *message) subjectTenant() string {
	if m.rules >= ledger.SubjectRules {
		return schema.SubjectTenant(m.subject)
	}
	s, _ := schema.ParseSubject(m.subject)
	return s.Tenant
}
