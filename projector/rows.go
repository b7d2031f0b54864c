package projector

import (
	"encoding/hex"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// firsts are the first messages with their identities, by [decode.Event.Key].
// Without a pointer in it, the collector passes over what may be tens of thousands.
type firsts map[[32]byte]first

// first is where a first message stands, and the digest of its event.
type first struct {
	sequence uint64
	digest   [32]byte
}

// of returns what is known by the message's identity, as the ledger would have it.
func (f firsts) of(m decode.Event) (ledger.Known, bool) {
	one, ok := f[m.Key]
	if !ok {
		return ledger.Known{}, false
	}
	at := ledger.Position{Incarnation: m.Position.Incarnation, StreamSeq: one.sequence}
	return ledger.Known{Tenant: m.Tenant, Source: m.Envelope.Source, EventID: m.Envelope.ID, Position: at, Digest: one.digest}, true
}

// outcome is what becomes of messages: rows, and the messages that are quarantined
// and the first of each event.
type outcome struct {
	rows        *ledger.Batch
	quarantined []decode.Event
	firsts      firsts
	leaves      []leafAt
}

// place adds what becomes of a message. Of a message that is not quarantined it keeps
// nothing but copies.
func (o *outcome) place(m decode.Event, known map[decode.Identity]ledger.Known) {
	if m.Erased != nil {
		if m.Erased.Hash != (tlog.Hash{}) {
			o.leaves = append(o.leaves, leafAt{m.Erased.Hash, m.Erased.Tenant, m.Position})
		}
		return
	}
	if of, ok := quarantine.ReplayOf(m.Message); ok {
		o.rows.AddReplay(m.ReplayTenant(), m.Position, of)
	}
	if len(m.Violations) > 0 {
		o.quarantine(m)
		return
	}
	earlier, again := o.firsts.of(m)
	if !again {
		earlier, again = known[m.Identity()]
	}
	switch {
	case !again || !before(earlier.Position, m.Position):
		o.rows.AddDerived(m.Envelope, m.Fact, m.Position, ledger.Derived{Tenant: m.Tenant, Digest: m.Digest, Identity: m.Hash, Salt: m.Salt})
		if m.Logged {
			o.leaves = append(o.leaves, leafAt{m.Leaf, m.Tenant, m.Position})
		}
		o.firsts[m.Key] = first{m.Position.StreamSeq, m.Digest}
		if m.Rules < ledger.SubjectRules { // for batches by later rules, while this one is in flight
			o.firsts[decode.OwnedKey(m.Key, m.Tenant)] = first{m.Position.StreamSeq, m.Digest}
		}
	case earlier.Digest == m.Digest:
		o.rows.AddDuplicate(m.Envelope, m.Tenant, m.Position, earlier.Position)
	default:
		m.Violations = schema.Violations{{
			Code: schema.CodeIDConflict, Pointer: "/id",
			Found: "an event with this source and id and the digest " + hex.EncodeToString(earlier.Digest[:8]) + "… is in the ledger",
			Fix:   "give every event an id of its own",
		}}
		o.quarantine(m)
	}
}

func (o *outcome) quarantine(m decode.Event) {
	o.quarantined = append(o.quarantined, m)
	if m.Kept != nil {
		o.rows.AddRefusal(*m.Kept)
		return
	}
	o.rows.AddRefused(m.Refused(), m.Position)
}

// before reports whether what the ledger has at first stands before the
// message at m. Of one stream the lowest sequence wins; a message of another
// stream that is in the ledger came first, whatever its sequence. A message
// does not stand before itself: it was written and not committed.
func before(first, m ledger.Position) bool {
	return first.Incarnation != m.Incarnation || first.StreamSeq < m.StreamSeq
}
