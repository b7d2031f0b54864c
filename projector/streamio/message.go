package streamio

import (
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// Message is one message of the stream with its place.
type Message struct {
	Subject  string
	Header   map[string][]string
	Data     []byte
	Position ledger.Position
	Arrived  time.Time // of the first of a batch
	digest   [32]byte  // see sum
	summed   bool
	Kept     *ledger.Refusal // what quarantine has of it, where the stream no longer does
	Erased   *ErasedLeaf     // it was erased and the stream no longer has it
	Rules    ledger.Rules    // that hold at its place
}

func (m *Message) Size() int { return len(m.Subject) + len(m.Data) + 64*len(m.Header) }

func month(m *Message) int {
	t := m.Position.RecordedAt
	return t.Year()*12 + int(t.Month())
}

// ErasedLeaf is the leaf of an erased message, and its tenant. The zero hash is no leaf.
type ErasedLeaf struct {
	Hash   tlog.Hash
	Tenant string
}

// SubjectTenant is the tenant of the message's subject, "" where it has none. By
// [ledger.EnvelopeRules] a subject that is none of the contract's has none.
func (m *Message) SubjectTenant() string {
	if m.Rules >= ledger.SubjectRules {
		return schema.SubjectTenant(m.Subject)
	}
	s, _ := schema.ParseSubject(m.Subject)
	return s.Tenant
}
