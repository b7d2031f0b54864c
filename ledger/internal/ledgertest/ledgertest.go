// Package ledgertest gives tests a separate ledger, and rows of every table.
package ledgertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/schema"
)

// Migrated has the newest tables and views, which take longer to make than most tests
// take.
var Migrated = embeddedtest.TemplateOf(ledger.Open, func(ctx context.Context, l *ledger.Ledger) error {
	_, err := migrate.Up(ctx, DB(l).Conn)
	return err
})

// Open returns a ledger on a migrated database of the test's own.
func Open(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), Migrated.ClickHouse(t).ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// DB returns the connections of a ledger.
func DB(l *ledger.Ledger) chsql.DB { return l.SQL(nil) }

// Count returns a single number.
func Count(t *testing.T, l *ledger.Ledger, sql string) uint64 {
	t.Helper()
	var n uint64
	if err := DB(l).Conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Counts returns the number of rows of every table that has any.
func Counts(t *testing.T, l *ledger.Ledger) map[string]uint64 {
	t.Helper()
	found := make(map[string]uint64)
	for _, table := range ledger.Tables() {
		if n := Count(t, l, "SELECT count() FROM "+table); n > 0 {
			found[table] = n
		}
	}
	return found
}

var recordedAt = time.Date(2026, 11, 21, 8, 0, 0, 5, time.UTC)

// Batch holds the golden event of every type, an event of a later version, a duplicate and a
// refused message. The sequences begin with first.
func Batch(t *testing.T, incarnation uuid.UUID, first uint64) *ledger.Batch {
	t.Helper()
	b := &ledger.Batch{Range: ledger.Range{Incarnation: incarnation, First: first, RecordedAt: recordedAt, Digest: [32]byte{byte(first)}}}
	next := func() ledger.Position {
		p := ledger.Position{Incarnation: incarnation, StreamSeq: first + b.Messages, RecordedAt: recordedAt}
		b.Messages, b.Last = b.Messages+1, p.StreamSeq
		return p
	}
	golden := func(typ schema.Type) (*schema.Event, schema.Fact) {
		e, err := schema.ParseStructured(schema.Golden(typ))
		if err != nil {
			t.Fatal(err)
		}
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		return e, fact
	}
	for _, typ := range schema.Types() {
		e, fact := golden(typ)
		b.Add(e, fact, next())
	}
	e, _ := golden(schema.Types()[0])
	e.Type = "dev.ctxledger.context.invented.later.v1"
	b.Add(e, nil, next())
	b.AddDuplicate(e, e.Tenant, next(), ledger.Position{Incarnation: incarnation, StreamSeq: 1, RecordedAt: recordedAt})
	b.AddRefused(ledger.Refused{Subject: "ctx.x", Data: []byte{0xff, 0}, Violations: schema.Violations{{Code: schema.CodeMalformed}}}, next())
	return b
}
