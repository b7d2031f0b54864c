package decode

import (
	"runtime"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// An Event is a message after validation. Without violations it is an event to
// keep: with its fact, or without one where the type is of a newer version.
type Event struct {
	*streamio.Message
	Envelope   *schema.Event // nil when not even the envelope could be read
	Tenant     string        // whose message it is, by the rules of its place
	Fact       schema.Fact
	Violations schema.Violations
	Key        [32]byte // of its event with others: the hash of its Identity
	Hash       uint64
	Digest     [32]byte
	// logged says that it has a leaf in the log if it becomes an event.
	Logged bool
	Salt   proof.Salt
	Leaf   tlog.Hash
	// reintroduced says that the message held a withheld value, of which this is
	// what may be kept: it is to be deleted from the stream.
	Reintroduced bool
}

// All decodes messages on all processors. Those that may become events get
// their leaves in the transparency log; nil makes none.
func All(messages []*streamio.Message, leaves *Leaves) []Event {
	all := make([]Event, len(messages))
	inParallel(len(messages), func(first, last int) {
		salter := leaves.salter()
		room := make([]byte, 0, 1024)
		for i := first; i < last; i++ {
			messages[i].Sum()
			all[i], room = parseIn(room, messages[i], salter, leaves.from())
		}
		leaves.done(salter)
	})
	return all
}

// inParallel calls do with shares of n on all processors, and returns once all are
// done.
func inParallel(n int, do func(first, last int)) {
	var work sync.WaitGroup
	share := max(minParallel, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for first := 0; first < n; first += share {
		work.Go(func() { do(first, min(first+share, n)) })
	}
	work.Wait()
}

// minParallel is how many messages are worth a goroutine.
const minParallel = 64

// One decodes a message. Its event gets no leaf.
func One(m *streamio.Message) Event {
	p, _ := parseIn(nil, m, nil, 0)
	return p
}

// parseIn decodes a message in room that is used again, and returns that.
func parseIn(room []byte, m *streamio.Message, salter *proof.Salter, from uint64) (Event, []byte) {
	p := Event{Message: m, Tenant: m.SubjectTenant()}
	if m.Erased != nil {
		p.Violations = schema.Violations{{Code: "erased"}} // it is nothing but its leaf
		return p, room
	}
	if m.Kept != nil {
		p.Reintroduced, p.Violations = true, schema.Violations{{Code: schema.CodeReintroduced}}
		return p, room
	}
	var unread bool
	p.Envelope, p.Fact, p.Violations, unread = schema.ReadMessage(m.Header, m.Data)
	if len(p.Violations) == 1 && p.Violations[0].Code == schema.CodeUnknownType {
		p.Violations = nil
	}
	if unread {
		return p, room
	}
	sum := p.Envelope.IdentitySum()
	p.Key, p.Hash = sum, schema.IdentityOf(sum)
	if m.Rules >= ledger.SubjectRules {
		p.Key = OwnedKey(sum, p.Tenant)
		if v := p.Envelope.CheckSubject(m.Subject); v != nil {
			p.Violations = slices.Insert(p.Violations, 0, v)
		}
	} else {
		p.Tenant = p.Envelope.Tenant
	}
	room = p.Envelope.AppendAttributes(room[:0])
	p.Digest = p.Envelope.DigestWith(room)
	if salter != nil && len(p.Violations) == 0 && m.Position.StreamSeq >= from {
		p.Logged = true
		p.Salt, p.Leaf = salter.Leaf(p.Envelope, room)
	}
	return p, room
}

// Refused is what quarantine gets of a message, under the tenant of its subject.
func (m *Event) Refused() ledger.Refused {
	return ledger.Refused{
		Tenant: m.SubjectTenant(), Subject: m.Subject, Header: m.Header, Data: m.Data, Event: m.Envelope, Violations: m.Violations,
	}
}

// Refusal is what quarantine says of a quarantined message.
func (m *Event) Refusal() ledger.Refusal { return ledger.RefusalOf(m.Refused(), m.Position) }

// ReplayTenant is whose replay m is. By [ledger.EnvelopeRules] the envelope says so
// where it can be read, and the subject elsewhere.
func (m *Event) ReplayTenant() string {
	if m.Rules < ledger.SubjectRules && m.Envelope != nil && m.Envelope.Tenant != "" {
		return m.Envelope.Tenant
	}
	return m.SubjectTenant()
}
