package evidence

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// mostRounds bounds the queries of lookBeside. Each query can find facts that name further facts.
const mostRounds = 16 + schema.MaxAssemblyChain

// lookBeside finds facts outside of the scope that describe ids named in the scope. An example is
// the system prompt in a turn's window. The documents are built once without files to find the
// undescribed ids. lookBeside then searches the rest of the session for these ids. The found facts
// can name further ids, so the search is repeated. The result holds sequences by log.
func (x *export) lookBeside(logs []read.ScopeLog) (map[uuid.UUID][]uint64, error) {
	if x.header.Scope.Kind == pack.ScopeSession {
		return nil, nil // a session contains all of its facts
	}
	header := x.header
	header.Logs = make([]string, len(logs))
	b, err := document.New(header, func(document.Part) io.Writer { return io.Discard })
	if err != nil {
		return nil, err
	}
	var until time.Time
	visit := func(log int) func(read.Logged) error {
		return func(e read.Logged) error {
			if x.scopeOf().Has(&e.Event.Correlation) && e.RecordedAt.After(until) {
				until = e.RecordedAt
			}
			return b.Add(log, &pack.Record{LogIndex: int64(e.StreamSeq), StreamSeq: e.StreamSeq, RecordedAt: e.RecordedAt, Event: e.Event})
		}
	}
	for i, at := range logs {
		if err := read.Of(x.ledger).ScopeEvents(x.ctx, x.scope, at.Incarnation, visit(i)); err != nil {
			return nil, err
		}
	}
	beside := make(map[uuid.UUID][]uint64)
	asked := make(map[read.Described]bool)
	for range mostRounds {
		var things []read.Described
		for _, t := range b.Lacking() {
			thing := read.Described{Kind: t.Kind, ID: t.ID}
			if !asked[thing] {
				asked[thing] = true
				things = append(things, thing)
			}
		}
		found, err := read.Of(x.ledger).ScopeDescribed(x.ctx, x.scope, things, until)
		if err != nil || len(found) == 0 {
			return beside, err
		}
		for incarnation, sequences := range found {
			beside[incarnation] = append(beside[incarnation], sequences...)
			only := read.Scope{Tenant: x.scope.Tenant, Session: x.scope.Session, Only: sequences}
			if err := read.Of(x.ledger).ScopeEvents(x.ctx, only, incarnation, visit(0)); err != nil {
				return nil, err
			}
		}
	}
	return beside, nil
}

// scopeOf returns the requested scope, before pseudonyms.
func (x *export) scopeOf() pack.Scope { return x.config.Header.Scope }

// withBeside adds the facts from [export.lookBeside] to the logs. A stream without any fact of the
// scope becomes a separate log.
func withBeside(logs []read.ScopeLog, beside map[uuid.UUID][]uint64) []read.ScopeLog {
	left := maps.Clone(beside)
	for i := range logs {
		at := logs[i].Incarnation
		logs[i].Events += uint64(len(left[at]))
		logs[i].Last = max(logs[i].Last, last(left[at]))
		delete(left, at)
	}
	for _, at := range slices.SortedFunc(maps.Keys(left), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		logs = append(logs, read.ScopeLog{Incarnation: at, Last: last(left[at]), Events: uint64(len(left[at]))})
	}
	return logs
}

// last returns the highest sequence, 0 for an empty list.
func last(sequences []uint64) (n uint64) {
	for _, s := range sequences {
		n = max(n, s)
	}
	return n
}
