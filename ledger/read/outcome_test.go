package read_test

import (
	"testing"

	"github.com/google/uuid"

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
