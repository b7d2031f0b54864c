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
// beside it. known holds what the ledger says about the identities among them;
// build adds what it finds. It is a pure function otherwise: the same arguments
// give the same batch.
func build(r ledger.Range, messages []parsed, known map[pair]ledger.Known) (batch *ledger.Batch, refused []parsed) {
	batch = &ledger.Batch{Range: r}
	refuse := func(m parsed) {
		batch.AddRefused(ledger.Refused{Subject: m.subject, Header: m.header, Data: m.data, Event: m.event, Violations: m.violations}, m.position)
		refused = append(refused, m)
	}
	for _, m := range messages {
		if len(m.violations) > 0 {
			refuse(m)
			continue
		}
		id := pair{m.event.Source, m.event.ID}
		first, again := known[id]
		switch {
		case !again || first.Position == m.position || !before(first.Position, m.position):
			batch.Add(m.event, m.fact, m.position)
			known[id] = ledger.Known{Source: id.source, EventID: id.id, Position: m.position, Digest: m.digest}
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

// before reports whether a was stored before b: the lowest sequence of a
// stream wins, and what an earlier stream held wins over a later one.
func before(a, b ledger.Position) bool {
	return a.Incarnation != b.Incarnation || a.StreamSeq < b.StreamSeq
}
