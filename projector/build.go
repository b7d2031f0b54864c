package projector

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// parsed is a message after validation. Without violations it is an event to
// keep: with its fact, or without one where the type is of a newer version.
type parsed struct {
	*message
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
// their leaves in the book, which may be nil.
func parseAll(messages []*message, log *book) []parsed {
	all := make([]parsed, len(messages))
	inShares(len(messages), func(first, last int) {
		leaves := log.leaves()
		room := make([]byte, 0, 1024)
		for i := first; i < last; i++ {
			messages[i].sum()
			all[i], room = parseIn(room, messages[i], leaves)
		}
		log.done(leaves)
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

func parse(m *message) parsed {
	p, _ := parseIn(nil, m, leaves{})
	return p
}

// parseIn parses a message in room that is used again, and returns that.
func parseIn(room []byte, m *message, log leaves) (parsed, []byte) {
	p := parsed{message: m, tenant: m.subjectTenant()}
	if m.erased != nil {
		p.violations = schema.Violations{{Code: "erased"}} // it is nothing but its leaf
		return p, room
	}
	if m.kept != nil {
		p.reintroduced, p.violations = true, schema.Violations{{Code: schema.CodeReintroduced}}
		return p, room
	}
	var unread bool
	p.event, p.fact, p.violations, unread = schema.ReadMessage(m.header, m.data)
	if len(p.violations) == 1 && p.violations[0].Code == schema.CodeUnknownType {
		p.violations = nil
	}
	if unread {
		return p, room
	}
	sum := p.event.IdentitySum()
	p.sameness, p.identity = sum, schema.IdentityOf(sum)
	if m.rules >= ledger.SubjectRules {
		p.sameness = ownedSum(sum, p.tenant)
		if v := p.event.CheckSubject(m.subject); v != nil {
			p.violations = slices.Insert(p.violations, 0, v)
		}
	} else {
		p.tenant = p.event.Tenant
	}
	room = p.event.AppendAttributes(room[:0])
	p.digest = p.event.DigestWith(room)
	if log.salter != nil && len(p.violations) == 0 && m.position.StreamSeq >= log.first {
		p.logged = true
		p.salt, p.leaf = log.salter.Leaf(p.event, room)
	}
	return p, room
}

// eventIdentity is the identity of an event in full. By [ledger.EnvelopeRules] it has
// no tenant: all tenants share them.
type eventIdentity struct{ tenant, source, id string }

// eventIdentity is that of m's event, by the rules of its place.
func (m *parsed) eventIdentity() eventIdentity {
	if m.rules < ledger.SubjectRules {
		return eventIdentity{"", m.event.Source, m.event.ID}
	}
	return eventIdentity{m.tenant, m.event.Source, m.event.ID}
}

// ownedSum is the hash of an identity that is a tenant's, of the hash of (source, id).
func ownedSum(sum [32]byte, tenant string) [32]byte {
	room := make([]byte, 0, 128)
	return sha256.Sum256(append(append(room, sum[:]...), schema.TenantOf(tenant)...))
}

// firsts are the first messages with their identities, by [parsed.sameness].
// Without a pointer in it, the collector passes over what may be tens of thousands.
type firsts map[[32]byte]first

// first is where a first message stands, and the digest of its event.
type first struct {
	sequence uint64
	digest   [32]byte
}

// of returns what is known by the message's identity, as the ledger would have it.
func (f firsts) of(m parsed) (ledger.Known, bool) {
	one, ok := f[m.sameness]
	if !ok {
		return ledger.Known{}, false
	}
	at := ledger.Position{Incarnation: m.position.Incarnation, StreamSeq: one.sequence}
	return ledger.Known{Tenant: m.tenant, Source: m.event.Source, EventID: m.event.ID, Position: at, Digest: one.digest}, true
}

// outcome is what becomes of messages: rows, and beside them the refused ones
// and the first of each event.
type outcome struct {
	batch   *ledger.Batch
	refused []parsed
	firsts  firsts
	leaves  []leafAt
}

// build places messages in an empty batch. known holds what is known about their
// identities. It is a pure function: the same arguments give the same outcome.
func build(batch *ledger.Batch, messages []parsed, known map[eventIdentity]ledger.Known) outcome {
	o := outcome{batch: batch, firsts: make(firsts)}
	for _, m := range messages {
		o.place(m, known)
	}
	return o
}

// place adds what becomes of a message. Of a message that is not refused it keeps
// nothing but copies.
func (o *outcome) place(m parsed, known map[eventIdentity]ledger.Known) {
	if m.erased != nil {
		if m.erased.hash != (tlog.Hash{}) {
			o.leaves = append(o.leaves, leafAt{m.erased.hash, m.erased.tenant, m.position})
		}
		return
	}
	if of, ok := m.replayOf(); ok {
		o.batch.AddReplay(m.replayTenant(), m.position, of)
	}
	if len(m.violations) > 0 {
		o.refuse(m)
		return
	}
	earlier, again := o.firsts.of(m)
	if !again {
		earlier, again = known[m.eventIdentity()]
	}
	switch {
	case !again || !before(earlier.Position, m.position):
		o.batch.AddDerived(m.event, m.fact, m.position, ledger.Derived{Tenant: m.tenant, Digest: m.digest, Identity: m.identity, Salt: m.salt})
		if m.logged {
			o.leaves = append(o.leaves, leafAt{m.leaf, m.tenant, m.position})
		}
		o.firsts[m.sameness] = first{m.position.StreamSeq, m.digest}
		if m.rules < ledger.SubjectRules { // for batches by later rules, while this one is in flight
			o.firsts[ownedSum(m.sameness, m.tenant)] = first{m.position.StreamSeq, m.digest}
		}
	case earlier.Digest == m.digest:
		o.batch.AddDuplicate(m.event, m.tenant, m.position, earlier.Position)
	default:
		m.violations = schema.Violations{{
			Code: schema.CodeIDConflict, Pointer: "/id",
			Found: "an event with this source and id and the digest " + hex.EncodeToString(earlier.Digest[:8]) + "… is in the ledger",
			Fix:   "give every event an id of its own",
		}}
		o.refuse(m)
	}
}

func (o *outcome) refuse(m parsed) {
	o.refused = append(o.refused, m)
	if m.kept != nil {
		o.batch.AddRefusal(*m.kept)
		return
	}
	o.batch.AddRefused(m.refused(), m.position)
}

// refused is what quarantine gets of a message, under the tenant of its subject.
func (m *parsed) refused() ledger.Refused {
	return ledger.Refused{
		Tenant: m.subjectTenant(), Subject: m.subject, Header: m.header, Data: m.data, Event: m.event, Violations: m.violations,
	}
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

// before reports whether what the ledger has at first stands before the
// message at m. Of one stream the lowest sequence wins; a message of another
// stream that is in the ledger came first, whatever its sequence. A message
// does not stand before itself: it was written and not committed.
func before(first, m ledger.Position) bool {
	return first.Incarnation != m.Incarnation || first.StreamSeq < m.StreamSeq
}
