package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
)

// Known is an identity in the ledger: the position of its event, and its digest. An equal
// digest is a repeat, another digest a conflict.
type Known struct {
	Tenant   string // as stored: "" and "default" are one
	Source   string
	EventID  string
	Position Position
	Digest   [32]byte
}

// Lookup returns every event whose identity hash is among identities. Hashes
// collide; the caller compares tenant, source and id.
func (l *Ledger) Lookup(ctx context.Context, identities []uint64) ([]Known, error) {
	var found []Known
	for row := range l.sql.Rows(ctx, "lookup_identities", chsql.Params{"identities": chsql.Numbers(identities)}) {
		var k Known
		var digest string
		if err := row.Scan(&k.Tenant, &k.Source, &k.EventID, &k.Position.Incarnation, &k.Position.StreamSeq, &k.Position.RecordedAt, &digest); err != nil {
			return nil, fmt.Errorf("look up identities: %w", err)
		}
		copy(k.Digest[:], digest)
		found = append(found, k)
	}
	return found, nil
}

// Identities calls add with the identity hash of every event, to fill a filter at start. Events
// of the streams in except are left out. Before the first it calls most with about how many
// there are, repeats included.
func (l *Ledger) Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error {
	params := chsql.Params{"except": chsql.Texts(textsOf(except))}
	var n uint64
	if err := l.sql.Row(ctx, "identities_count", params).Scan(&n); err != nil {
		return fmt.Errorf("count identities: %w", err)
	}
	most(n)
	if err := l.sender.numbers(ctx, l.sql.Text("identities"), "identity", params, add); err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	return nil
}

func textsOf(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// Trace identifies a message of the stream: another message at the same place has another
// trace.
type Trace struct {
	RecordedAt time.Time // by the stream, to the nanosecond
	Digest     [32]byte  // of the event; zero for one that does not count
}

// Traces returns the trace of each message of a range that the ledger has, by sequence. A
// message of which it has no row is left out.
func (l *Ledger) Traces(ctx context.Context, r Range) (map[uint64]Trace, error) {
	params := chsql.Params{"incarnation": chsql.UUID(r.Incarnation), "first": chsql.Number(r.First), "last": chsql.Number(r.Last)}
	traces := make(map[uint64]Trace)
	for row := range l.sql.Rows(ctx, "traces", params) {
		var seq uint64
		var t Trace
		var digest string
		if err := row.Scan(&seq, &t.RecordedAt, &digest); err != nil {
			return nil, fmt.Errorf("read the identities of a range: %w", err)
		}
		copy(t.Digest[:], digest)
		traces[seq] = t
	}
	return traces, nil
}
