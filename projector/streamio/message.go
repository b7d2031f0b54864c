package streamio

import (
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// Message is a message of the stream with its place.
type Message struct {
	Subject  string
	Header   map[string][]string
	Data     []byte
	Position ledger.Position
	Arrived  time.Time // set for the first message of a batch
	digest   [32]byte  // see sum
	summed   bool
	Kept     *ledger.Refusal // the row of quarantine, if the message is gone from the stream
	Erased   *ErasedLeaf     // set if the message was erased and is gone from the stream
	Rules    ledger.Rules    // the rules that apply at its place
}

func (m *Message) Size() int { return len(m.Subject) + len(m.Data) + 64*len(m.Header) }

func month(m *Message) int {
	t := m.Position.RecordedAt
	return t.Year()*12 + int(t.Month())
}

// ErasedLeaf is the leaf of an erased message, and its tenant. The zero hash means no leaf.
type ErasedLeaf struct {
	Hash   tlog.Hash
	Tenant string
}

// SubjectTenant returns the tenant of the message's subject, or "" if it has none. By
// [ledger.EnvelopeRules] a subject outside the contract has no tenant.
func (m *Message) SubjectTenant() string {
	if m.Rules >= ledger.SubjectRules {
		return schema.SubjectTenant(m.Subject)
	}
	s, _ := schema.ParseSubject(m.Subject)
	return s.Tenant
}
