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

// erased is what erasures have left of a scope in one log.
type erased struct {
	events []read.ErasedEvent  // in the order of the log, those that are not written
	facts  map[string][]uint64 // sequences of the facts that name them, by session
}

// withErased adds to the logs of a scope what is erased of it, and the facts that say
// so, which may be in logs of their own.
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

// outsideFacts reads the facts in a log that are not of the scope and belong to it: those
// that name erased records of it, and those that describe what it names.
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

// before writes what is erased, and the facts, that stand before a sequence of the
// stream. It returns the facts that are left.
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

// expired writes what is left of an event.
func (w *recordWriter) expired(e *read.ErasedEvent) error {
	r := &pack.Record{LogIndex: e.Index, StreamSeq: e.StreamSeq, Leaf: e.Leaf, Erased: e.ErasureID}
	if w.hide != nil {
		r.Erased = w.hide.of(e.ErasureID)
	}
	return w.record(r, r)
}
