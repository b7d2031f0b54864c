package projector

import (
	"encoding/hex"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// firsts are the first messages with their identities, by [decode.Event.Key]. The map holds no
// pointers, so the garbage collector does not scan its entries.
type firsts map[[32]byte]first

// first is the sequence of a first message, and the digest of its event.
type first struct {
	sequence uint64
	digest   [32]byte
}

// of returns the known event with the identity of e, in the form that the ledger returns.
func (f firsts) of(e decode.Event) (ledger.Known, bool) {
	one, ok := f[e.Key]
	if !ok {
		return ledger.Known{}, false
	}
	at := ledger.Position{Incarnation: e.Position.Incarnation, StreamSeq: one.sequence}
	return ledger.Known{Tenant: e.Tenant, Source: e.Envelope.Source, EventID: e.Envelope.ID, Position: at, Digest: one.digest}, true
}

// outcome is the result of messages: their rows, the quarantined messages, the first message of
// each event, and the leaves.
type outcome struct {
	rows        *ledger.Batch
	quarantined []decode.Event
	firsts      firsts
	leaves      []leafAt
}

// place adds the result of a message. For a message that is not quarantined, it keeps only
// copies.
func (o *outcome) place(e decode.Event, known map[decode.Identity]ledger.Known) {
	if e.Erased != nil {
		if e.Erased.Hash != (tlog.Hash{}) {
			o.leaves = append(o.leaves, leafAt{e.Erased.Hash, e.Erased.Tenant, e.Position})
		}
		return
	}
	if of, ok := quarantine.ReplayOf(e.Message); ok {
		o.rows.AddReplay(e.ReplayTenant(), e.Position, of)
	}
	if len(e.Violations) > 0 {
		o.quarantine(e)
		return
	}
	earlier, again := o.firsts.of(e)
	if !again {
		earlier, again = known[e.Identity()]
	}
	switch {
	case !again || !before(earlier.Position, e.Position):
		o.rows.AddDerived(e.Envelope, e.Fact, e.Position, ledger.Derived{Tenant: e.Tenant, Digest: e.Digest, Identity: e.Hash, Salt: e.Salt})
		if e.Logged {
			o.leaves = append(o.leaves, leafAt{e.Leaf, e.Tenant, e.Position})
		}
		o.firsts[e.Key] = first{e.Position.StreamSeq, e.Digest}
		if e.Rules < ledger.SubjectRules { // for batches by later rules, while this one is in flight
			o.firsts[decode.OwnedKey(e.Key, e.Tenant)] = first{e.Position.StreamSeq, e.Digest}
		}
	case earlier.Digest == e.Digest:
		o.rows.AddDuplicate(e.Envelope, e.Tenant, e.Position, earlier.Position)
	default:
		e.Violations = schema.Violations{{
			Code: schema.CodeIDConflict, Pointer: "/id",
			Found: "an event with this source and id and the digest " + hex.EncodeToString(earlier.Digest[:8]) + "… is in the ledger",
			Fix:   "give every event an id of its own",
		}}
		o.quarantine(e)
	}
}

func (o *outcome) quarantine(e decode.Event) {
	o.quarantined = append(o.quarantined, e)
	if e.Kept != nil {
		o.rows.AddRefusal(*e.Kept)
		return
	}
	o.rows.AddRefused(e.Refused(), e.Position)
}

// before reports whether the message at first precedes the message at m. Within one stream the
// lowest sequence precedes. A message of another stream always precedes, because it is already
// in the ledger. A message does not precede itself: its row was written but not committed.
func before(first, m ledger.Position) bool {
	return first.Incarnation != m.Incarnation || first.StreamSeq < m.StreamSeq
}
