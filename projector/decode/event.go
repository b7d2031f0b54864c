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

// An Event is a message after validation. Without violations it becomes an event of the ledger.
// An event of a newer type has no fact.
type Event struct {
	*streamio.Message
	Envelope   *schema.Event // nil if the envelope could not be read
	Tenant     string        // the owner of the message, by the rules of its place
	Fact       schema.Fact
	Violations schema.Violations
	Key        [32]byte // the hash of its Identity; repeats of the event have the same key
	Hash       uint64   // of source and id, as the ledger stores it
	Digest     [32]byte
	// Logged is true if the event has a leaf in the transparency log once it is accepted.
	Logged bool
	Salt   proof.Salt
	Leaf   tlog.Hash
	// Reintroduced is true if the message held a withheld value. The Event holds only the
	// masked remains, and the message is deleted from the stream.
	Reintroduced bool
	Redaction    string // of a reintroduced value; masked
}

// All decodes messages on all processors. Possible events get their leaves in the transparency
// log. Nil leaves make none.
func All(messages []*streamio.Message, leaves *Leaves) []Event {
	all := make([]Event, len(messages))
	inParallel(len(messages), func(first, last int) {
		salter := leaves.salter()
		room := make([]byte, 0, 1024)
		for i := first; i < last; i++ {
			messages[i].Sum()
			all[i], room = decodeIn(room, messages[i], salter, leaves.from())
		}
		leaves.done(salter)
	})
	return all
}

// inParallel calls do with parts of n on all processors, and returns after all calls.
func inParallel(n int, do func(first, last int)) {
	var work sync.WaitGroup
	share := max(minParallel, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for first := 0; first < n; first += share {
		work.Go(func() { do(first, min(first+share, n)) })
	}
	work.Wait()
}

// minParallel is the smallest number of messages for a goroutine.
const minParallel = 64

// One decodes a message without a leaf.
func One(m *streamio.Message) Event {
	e, _ := decodeIn(nil, m, nil, 0)
	return e
}

// decodeIn decodes a message with the buffer room, and returns the buffer for reuse.
func decodeIn(room []byte, m *streamio.Message, salter *proof.Salter, from uint64) (Event, []byte) {
	e := Event{Message: m, Tenant: m.SubjectTenant()}
	if m.Erased != nil {
		e.Violations = schema.Violations{{Code: "erased"}} // only its leaf is left
		return e, room
	}
	if m.Kept != nil {
		e.Reintroduced, e.Violations = true, schema.Violations{{Code: schema.CodeReintroduced}}
		return e, room
	}
	var unread bool
	e.Envelope, e.Fact, e.Violations, unread = schema.ReadMessage(m.Header, m.Data)
	if len(e.Violations) == 1 && e.Violations[0].Code == schema.CodeUnknownType {
		e.Violations = nil
	}
	if !unread && m.Rules < ledger.DoorRules {
		if former := e.Envelope.FormerViolation(); former != nil {
			e.Envelope, e.Fact, e.Violations, unread = nil, nil, schema.Violations{former}, true
		}
	}
	if unread {
		return e, room
	}
	if former := e.Envelope.FormerData(); former != nil && m.Rules < ledger.KnownRules {
		e.Fact, e.Violations = nil, former
	}
	if m.Rules >= ledger.DoorRules {
		e.Violations = schema.CheckDoor(e.Envelope, e.Fact, e.Violations)
	}
	if m.Rules >= ledger.KnownRules {
		e.Violations = schema.CheckKnown(e.Fact, e.Violations)
		e.Violations = schema.CheckDigests(e.Envelope, e.Fact, e.Violations)
	}
	sum := e.Envelope.IdentitySum()
	e.Key, e.Hash = sum, schema.IdentityOf(sum)
	if m.Rules >= ledger.SubjectRules {
		e.Key = OwnedKey(sum, e.Tenant)
		if v := e.Envelope.CheckSubject(m.Subject); v != nil {
			e.Violations = slices.Insert(e.Violations, 0, v)
		}
	} else {
		e.Tenant = e.Envelope.Tenant
	}
	room = e.Envelope.AppendAttributes(room[:0])
	e.Digest = e.Envelope.DigestWith(room)
	if salter != nil && len(e.Violations) == 0 && m.Position.StreamSeq >= from {
		e.Logged = true
		e.Salt, e.Leaf = salter.Leaf(e.Envelope, room)
	}
	return e, room
}

// Refused returns the quarantine input of a message, under the tenant of its subject.
func (e *Event) Refused() ledger.Refused {
	return ledger.Refused{
		Tenant: e.SubjectTenant(), Subject: e.Subject, Header: e.Header, Data: e.Data, Event: e.Envelope, Violations: e.Violations,
	}
}

// Refusal returns the quarantine row of a quarantined message.
func (e *Event) Refusal() ledger.Refusal { return ledger.RefusalOf(e.Refused(), e.Position) }

// ReplayTenant returns the tenant of the replay e. By [ledger.EnvelopeRules] it is the tenant
// of the envelope, or of the subject if the envelope has none.
func (e *Event) ReplayTenant() string {
	if e.Rules < ledger.SubjectRules && e.Envelope != nil && e.Envelope.Tenant != "" {
		return e.Envelope.Tenant
	}
	return e.SubjectTenant()
}
