package projector

import (
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
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
	fact       schema.Fact
	violations schema.Violations
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

// parseAll parses messages on all processors.
func parseAll(messages []*message) []parsed {
	all := make([]parsed, len(messages))
	inShares(len(messages), func(first, last int) {
		for i := first; i < last; i++ {
			messages[i].sum()
			all[i] = parse(messages[i])
		}
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
	p := parsed{message: m}
	if m.erased != nil {
		p.violations = schema.Violations{{Code: "erased"}} // it is nothing but its leaf
		return p
	}
	if m.kept != nil {
		p.reintroduced, p.violations = true, schema.Violations{{Code: schema.CodeReintroduced}}
		return p
	}
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

// outcome is what becomes of messages: rows, and beside them the refused ones
// and the first of each event.
type outcome struct {
	batch   *ledger.Batch
	refused []parsed
	firsts  map[pair]ledger.Known
	leaves  []leafAt
}

// build places messages in an empty batch. known holds what is known about their
// identities. It is a pure function: the same arguments give the same outcome.
func build(batch *ledger.Batch, messages []parsed, known map[pair]ledger.Known) outcome {
	o := outcome{batch: batch, firsts: make(map[pair]ledger.Known)}
	for _, m := range messages {
		o.place(m, known)
	}
	return o
}

// place adds what becomes of a message. Of a message that is not refused it keeps
// nothing but copies.
func (o *outcome) place(m parsed, known map[pair]ledger.Known) {
	if m.erased != nil {
		if *m.erased != (tlog.Hash{}) {
			o.leaves = append(o.leaves, leafAt{*m.erased, m.position})
		}
		return
	}
	if of, ok := m.replayOf(); ok {
		o.batch.AddReplay(m.tenant(), m.position, of)
	}
	if len(m.violations) > 0 {
		o.refuse(m)
		return
	}
	id := pair{m.event.Source, m.event.ID}
	first, again := o.firsts[id]
	if !again {
		first, again = known[id]
	}
	switch {
	case !again || !before(first.Position, m.position):
		o.batch.AddDerived(m.event, m.fact, m.position, ledger.Derived{Digest: m.digest, Identity: m.identity, Salt: m.salt})
		if m.logged {
			o.leaves = append(o.leaves, leafAt{m.leaf, m.position})
		}
		id = pair{strings.Clone(id.source), strings.Clone(id.id)}
		o.firsts[id] = ledger.Known{Source: id.source, EventID: id.id, Position: m.position, Digest: m.digest}
	case first.Digest == m.digest:
		o.batch.AddDuplicate(m.event, m.position, first.Position)
	default:
		m.violations = schema.Violations{{
			Code: schema.CodeIDConflict, Pointer: "/id",
			Found: "an event with this source and id and the digest " + hex.EncodeToString(first.Digest[:8]) + "… is in the ledger",
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
	o.batch.AddRefused(ledger.Refused{Subject: m.subject, Header: m.header, Data: m.data, Event: m.event, Violations: m.violations}, m.position)
}

// before reports whether what the ledger has at first stands before the
// message at m. Of one stream the lowest sequence wins; a message of another
// stream that is in the ledger came first, whatever its sequence. A message
// does not stand before itself: it was written and not committed.
func before(first, m ledger.Position) bool {
	return first.Incarnation != m.Incarnation || first.StreamSeq < m.StreamSeq
}
