package projector

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/leak"
)

// built is a batch that is ready to be written: its rows, and what is to be done
// beside writing them. It holds no message but the refused ones.
type batch struct {
	ledger.Range
	outcome
	bytes     int // of the messages as they came
	links     []trace.Link
	stages    []stage            // what was done before the batch's span could begin
	withholds []leak.Withholding // what its redactions withhold
	landed    chan struct{}      // closed once the batch is committed
	free      chan<- *ledger.Batch
}

// mark commits a range whose rows are stored. Only a range that was written
// before can have its row of commits removed while the server still knows its
// token, so only then it looks.
func (w *writer) commit(ctx context.Context, b batch) error {
	w.offered = b.rows.Range
	if err := w.store.Commit(ctx, b.rows, w.lease.Epoch()); err != nil {
		return err
	}
	if w.mayBeHeld() {
		if err := w.commitAgain(ctx, b.rows); err != nil {
			return err
		}
	}
	w.last, w.checked = b.rows.Range, time.Now()
	w.signer.Committed(b.rows.Log, b.RecordedAt)
	rows := b.rows.Rows()
	if rows["redactions"] > 0 {
		if err := w.tellSiblings(ctx); err != nil {
			return err
		}
	}
	w.counts.events.Add(rows["events"])
	w.counts.quarantined.Add(rows["quarantine"])
	w.counts.duplicates.Add(rows["duplicates"])
	w.counted(b, rows)
	w.committed.Store(b.Last)
	w.config.Log.Debug("committed", "first", b.First, "last", b.Last, "messages", b.Messages)
	return nil
}

// land lets go of a batch that is committed.
func (b batch) land() {
	close(b.landed)
	select {
	case b.free <- b.rows:
	default:
	}
}
