package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

func openMigrated(t *testing.T) *ledger.Ledger {
	t.Helper()
	s := embedded.SharedClickHouse(t)
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMigrateTwiceAppliesOnce(t *testing.T) {
	t.Parallel()
	l := openMigrated(t)
	applied, err := l.Migrate(context.Background())
	if err != nil || len(applied) != 0 {
		t.Fatalf("second migration applied %v, err %v; want nothing", applied, err)
	}
}

func TestWriteEveryType(t *testing.T) {
	t.Parallel()
	l := openMigrated(t)
	at := time.Date(2026, 11, 21, 8, 0, 0, 5, time.UTC)
	b := &ledger.Batch{Range: ledger.Range{Incarnation: uuid.New(), First: 1, RecordedAt: at}}
	for i, typ := range schema.Types() {
		fact := typ.New()
		e, err := schema.NewEvent(fact, uuid.NewString(), "urn:test", at, schema.Correlation{Tenant: "t", SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		b.Last, b.Messages = uint64(i+1), uint64(i+1)
		b.Add(e, fact, ledger.Position{Incarnation: b.Incarnation, StreamSeq: b.Last, RecordedAt: at})
	}
	for range 2 {
		start := time.Now()
		if err := l.Write(t.Context(), b, 1); err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(start))
	}
	t.Log(b.Rows())
	r, ok, err := l.LastCommit(t.Context(), b.Incarnation)
	t.Log(r, ok, err)
	if err := l.KillInserts(t.Context(), b.Incarnation); err != nil {
		t.Fatal(err)
	}
	known, err := l.Lookup(t.Context(), []uint64{1, 2})
	t.Log(known, err)
}
