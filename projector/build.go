package projector

import (
	"encoding/hex"
	"errors"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// parsed is a message after validation. Without violations it is an event to
// keep: with its fact, or without one where the type is of a newer version.
type parsed struct {
	*message
	event      *schema.Event // nil when not even the envelope could be read
	fact       schema.Fact
	violations schema.Violations
	identity   uint64
	digest     [32]byte
}

func parse(m *message) parsed {
	p := parsed{message: m}
	event, err := schema.ParseMessage(m.header, m.data)
	p.event = event
	if err != nil {
		var v *schema.Violation
		if !errors.As(err, &v) {
			v = &schema.Violation{Code: schema.CodeMalformed, Found: err.Error()}
		}
		p.violations = schema.Violations{v}
		return p
	}
	p.fact, p.violations = schema.Validate(event)
	if len(p.violations) == 1 && p.violations[0].Code == schema.CodeUnknownType {
		p.violations = nil
	}
	p.identity, p.digest = event.Identity(), event.Digest()
	return p
}

// pair is the identity of an event in full.
type pair struct{ source, id string }

// build turns messages into the rows of a batch, and returns the refused ones
// beside it. known holds what the ledger says about the identities among them.
// It is a pure function: the same arguments give the same batch.
func build(r ledger.Range, messages []parsed, known map[pair]ledger.Known) (batch *ledger.Batch, refused []parsed) {
	batch = &ledger.Batch{Range: r}
	refuse := func(m parsed) {
		batch.AddRefused(ledger.Refused{Subject: m.subject, Header: m.header, Data: m.data, Event: m.event, Violations: m.violations}, m.position)
		refused = append(refused, m)
	}
	firsts := make(map[pair]ledger.Known, len(messages)) // of this batch
	for _, m := range messages {
		if len(m.violations) > 0 {
			refuse(m)
			continue
		}
		id := pair{m.event.Source, m.event.ID}
		first, again := firsts[id]
		if !again {
			first, again = known[id]
		}
		switch {
		case !again || !before(first.Position, m.position):
			batch.Add(m.event, m.fact, m.position)
			firsts[id] = ledger.Known{Source: id.source, EventID: id.id, Position: m.position, Digest: m.digest}
		case first.Digest == m.digest:
			batch.AddDuplicate(m.event, m.position, first.Position)
		default:
			m.violations = schema.Violations{{
				Code: schema.CodeIDConflict, Pointer: "/id",
				Found: "an event with this source and id and the digest " + hex.EncodeToString(first.Digest[:8]) + "… is in the ledger",
				Fix:   "give every event an id of its own",
			}}
			refuse(m)
		}
	}
	return batch, refused
}

// before reports whether what the ledger has at first stands before the
// message at m. Of one stream the lowest sequence wins; a message of another
// stream that is in the ledger came first, whatever its sequence. A message
// does not stand before itself: it was written and not committed.
func before(first, m ledger.Position) bool {
	return first.Incarnation != m.Incarnation || first.StreamSeq < m.StreamSeq
}
