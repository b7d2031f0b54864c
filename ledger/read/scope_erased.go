package read

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// ErasedEvent is the rest of an erased event: its place in the log, and the fact of the
// erasure.
type ErasedEvent struct {
	Incarnation uuid.UUID
	StreamSeq   uint64
	Index       int64 // in the log of its incarnation
	Leaf        tlog.Hash
	ErasureID   string
	Fact        ErasureFact
}

// ErasureFact is the place of the fact of an erasure. The fact has a session if it is about an
// item of that session, or if the streams are projected to a cluster.
type ErasureFact struct {
	Incarnation uuid.UUID
	StreamSeq   uint64
	Session     string
}

// ScopeErased returns the events of a scope that erasures have taken, by log. An event
// is known to have been of the scope by the ids in the fact of its erasure; facts that
// were recorded without them name no scope. One that is still there is not among
// them, and Scope.Only is without effect.
func (l Reader) ScopeErased(ctx context.Context, s Scope) ([]ErasedEvent, error) {
	params := s.parameters()
	params["type"] = chsql.Text(schema.TypeErasureApplied)
	var list []ErasedEvent
	for row := range l.sql.Rows(ctx, "scope_erased", params) {
		var e ErasedEvent
		var index uint64
		var leaf string
		if err := row.Scan(&e.Incarnation, &e.StreamSeq, &index, &leaf, &e.ErasureID, &e.Fact.Incarnation, &e.Fact.StreamSeq, &e.Fact.Session); err != nil {
			return nil, fmt.Errorf("look for erased events: %w", err)
		}
		if len(leaf) != tlog.HashSize {
			return nil, fmt.Errorf("look for erased events: a hash of %d bytes", len(leaf))
		}
		e.Index, e.Leaf = int64(index), tlog.Hash([]byte(leaf))
		list = append(list, e)
	}
	return list, nil
}
