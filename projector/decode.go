package projector

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

// parsed is a message after validation. Without violations it is an event to
// keep: with its fact, or without one where the type is of a newer version.
type parsed struct {
	*streamio.Message
	event      *schema.Event // nil when not even the envelope could be read
	tenant     string        // whose message it is, by the rules of its place
	fact       schema.Fact
	violations schema.Violations
	sameness   [32]byte // of its event with others: the hash of its eventIdentity
	identity   uint64
	digest     [32]byte
	// logged says that it has a leaf in the log if it becomes an event.
	logged bool
	salt   proof.Salt
	leaf   tlog.Hash
	// reintroduced says that the message held a withheld value, of which this is
	// what may be kept: it is to be deleted from the stream.
	reintroduced bool
}

// parseAll parses messages on all processors. Those that may become events get
// their leaves in the transparency log; nil makes none.
func parseAll(messages []*streamio.Message, leaves *leaves) []parsed {
	all := make([]parsed, len(messages))
	inShares(len(messages), func(first, last int) {
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

// inShares calls do with shares of n on all processors, and returns once all are
// done.
func inShares(n int, do func(first, last int)) {
	var work sync.WaitGroup
	share := max(minShare, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for first := 0; first < n; first += share {
		work.Go(func() { do(first, min(first+share, n)) })
	}
	work.Wait()
}

// minShare is how many messages are worth a goroutine.
const minShare = 64

func parse(m *streamio.Message) parsed {
	p, _ := parseIn(nil, m, nil, 0)
	return p
}

// parseIn parses a message in room that is used again, and returns that.
func parseIn(room []byte, m *streamio.Message, salter *proof.Salter, from uint64) (parsed, []byte) {
	p := parsed{Message: m, tenant: m.SubjectTenant()}
	if m.Erased != nil {
		p.violations = schema.Violations{{Code: "erased"}} // it is nothing but its leaf
		return p, room
	}
	if m.Kept != nil {
		p.reintroduced, p.violations = true, schema.Violations{{Code: schema.CodeReintroduced}}
		return p, room
	}
	var unread bool
	p.event, p.fact, p.violations, unread = schema.ReadMessage(m.Header, m.Data)
	if len(p.violations) == 1 && p.violations[0].Code == schema.CodeUnknownType {
		p.violations = nil
	}
	if unread {
		return p, room
	}
	sum := p.event.IdentitySum()
	p.sameness, p.identity = sum, schema.IdentityOf(sum)
	if m.Rules >= ledger.SubjectRules {
		p.sameness = ownedSum(sum, p.tenant)
		if v := p.event.CheckSubject(m.Subject); v != nil {
			p.violations = slices.Insert(p.violations, 0, v)
		}
	} else {
		p.tenant = p.event.Tenant
	}
	room = p.event.AppendAttributes(room[:0])
	p.digest = p.event.DigestWith(room)
	if salter != nil && len(p.violations) == 0 && m.Position.StreamSeq >= from {
		p.logged = true
		p.salt, p.leaf = salter.Leaf(p.event, room)
	}
	return p, room
}

// refused is what quarantine gets of a message, under the tenant of its subject.
func (m *parsed) refused() ledger.Refused {
	return ledger.Refused{
		Tenant: m.SubjectTenant(), Subject: m.Subject, Header: m.Header, Data: m.Data, Event: m.event, Violations: m.violations,
	}
}

// refusalOf is what quarantine says of a refused message.
func refusalOf(m parsed) ledger.Refusal {
	return ledger.RefusalOf(m.refused(), m.Position)
}

// replayTenant is whose replay m is. By [ledger.EnvelopeRules] the envelope says so
// where it can be read, and the subject elsewhere.
func (m *parsed) replayTenant() string {
	if m.Rules < ledger.SubjectRules && m.event != nil && m.event.Tenant != "" {
		return m.event.Tenant
	}
	return m.SubjectTenant()
}
