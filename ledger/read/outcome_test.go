package read_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// TestOutcomesCountEachMessageOnce: rows count once when a repeated batch has other boundaries.
func TestOutcomesCountEachMessageOnce(t *testing.T) {
	t.Parallel()
	l := ledgertest.Open(t)
	b := ledgertest.Batch(t, uuid.New(), 1)
	if err := l.WriteRows(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	recut := *b
	recut.Last, recut.Digest = b.Last+1, [32]byte{77}
	if err := l.Write(t.Context(), &recut, 2); err != nil {
		t.Fatal(err)
	}
	rows := b.Rows()
	want := read.Outcomes{Events: rows["events"], Duplicates: rows["duplicates"], Quarantined: rows["quarantine"]}
	if got, err := read.Of(l).Outcomes(t.Context(), b.Incarnation, b.First, b.Last); err != nil || got != want {
		t.Errorf("outcomes %+v, %v; want %+v", got, err, want)
	}
}

// TestEventRowsAreCommitted: rows of a range count with its commit, because other tables can lack rows
// before that. Pages of a session read again when the number changes.
func TestEventRowsAreCommitted(t *testing.T) {
	t.Parallel()
	l := ledgertest.Open(t)
	first := ledgertest.Batch(t, uuid.New(), 1)
	counts := func(when string, want uint64) {
		t.Helper()
		if n, err := read.Of(l).EventRows(t.Context(), "", "sess-7f3a"); err != nil || n != want {
			t.Errorf("%s: %d rows, %v; want %d", when, n, err, want)
		}
	}
	committed := uint64(0)
	for _, b := range []*ledger.Batch{first, ledgertest.Batch(t, first.Incarnation, first.Last+1)} {
		if err := l.WriteRows(t.Context(), b, 1); err != nil {
			t.Fatal(err)
		}
		counts("before the commit", committed)
		if err := l.Commit(t.Context(), b, 1); err != nil {
			t.Fatal(err)
		}
		committed += b.Rows()["events"]
		counts("after the commit", committed)
	}
}
