package evidence

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// erased is the erased part of a scope in one log.
type erased struct {
	events []read.ErasedEvent  // erased events that are not written yet, in log order
	facts  map[string][]uint64 // sequences of the facts that name these events, by session
}

// withErased adds the erased events of a scope, and the facts that name them, to its logs. These
// facts can be in further logs.
func withErased(logs []read.ScopeLog, gone []read.ErasedEvent) ([]read.ScopeLog, map[uuid.UUID]erased) {
	by := make(map[uuid.UUID]erased)
	last := make(map[uuid.UUID]uint64)
	count := make(map[uuid.UUID]uint64)
	facts := make(map[read.ErasureFact]bool)
	for _, e := range gone {
		of := by[e.Incarnation]
		of.events = append(of.events, e)
		by[e.Incarnation] = of
		last[e.Incarnation] = max(last[e.Incarnation], e.StreamSeq)
		count[e.Incarnation]++
		facts[e.Fact] = true
	}
	for f := range facts {
		of := by[f.Incarnation]
		if of.facts == nil {
			of.facts = make(map[string][]uint64)
		}
		of.facts[f.Session] = append(of.facts[f.Session], f.StreamSeq)
		by[f.Incarnation] = of
		last[f.Incarnation] = max(last[f.Incarnation], f.StreamSeq)
		count[f.Incarnation]++
	}
	for i := range logs {
		at := logs[i].Incarnation
		logs[i].Last, logs[i].Events = max(logs[i].Last, last[at]), logs[i].Events+count[at]
		delete(last, at)
	}
	for _, at := range slices.SortedFunc(maps.Keys(last), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		logs = append(logs, read.ScopeLog{Incarnation: at, Last: last[at], Events: count[at]})
	}
	return logs, by
}

// outsideFacts reads the facts of a log that the pack needs from outside of its scope. These facts
// name erased records of the scope, or describe ids that the scope names.
func (x *export) outsideFacts(at *log) ([]read.Logged, error) {
	wanted := maps.Clone(at.erased.facts)
	if len(at.beside) > 0 {
		if wanted == nil {
			wanted = make(map[string][]uint64)
		}
		wanted[x.scope.Session] = slices.Concat(wanted[x.scope.Session], at.beside)
	}
	var list []read.Logged
	for session, sequences := range wanted {
		scope := read.Scope{Tenant: x.scope.Tenant, Session: session, Only: sequences}
		err := read.Of(x.ledger).ScopeEvents(x.ctx, scope, at.Incarnation, func(e read.Logged) error {
			list = append(list, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b read.Logged) int { return cmp.Compare(a.Index, b.Index) })
	return list, nil
}

// before writes the erased events and the facts that precede a sequence of the stream. The result
// is the remaining facts.
func (w *recordWriter) before(sequence uint64, facts []read.Logged) ([]read.Logged, error) {
	gone := &w.logs[w.log].erased
	for {
		fact := len(facts) > 0 && facts[0].StreamSeq < sequence
		event := len(gone.events) > 0 && gone.events[0].StreamSeq < sequence
		switch {
		case event && (!fact || gone.events[0].StreamSeq < facts[0].StreamSeq):
			if err := w.expired(&gone.events[0]); err != nil {
				return nil, err
			}
			gone.events = gone.events[1:]
		case fact:
			if err := w.event(facts[0]); err != nil {
				return nil, err
			}
			facts = facts[1:]
		default:
			return facts, nil
		}
	}
}

// expired writes the remaining record of an erased event.
func (w *recordWriter) expired(e *read.ErasedEvent) error {
	r := &pack.Record{LogIndex: e.Index, StreamSeq: e.StreamSeq, Leaf: e.Leaf, Erased: e.ErasureID}
	if w.hide != nil {
		r.Erased = w.hide.of(e.ErasureID)
	}
	return w.record(r, r)
}
