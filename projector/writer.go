package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/signing"
)

// A writer commits batches to the ledger, one after the other, under the lease. It belongs
// to one goroutine.
type writer struct {
	*shared
	lease      *lease.Lease
	signer     *signing.Signer // of the tree heads; nil signs none
	last       ledger.Range    // the last commit; the zero Range where there is none
	offered    ledger.Range    // the last that was to be committed, whether it was or not
	checked    time.Time       // when the ledger last said so
	doubtful   uint64          // up to here rows may be held, or their tokens, that no commit covers
	journalled ledger.Range    // the furthest that this projector has begun to write
}

// commit commits a range whose rows are stored. Only a range that was written
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

// mayBeHeld says that rows of the next range may have been written before this holder
// came to it, or rows of messages in front of it that are gone.
func (w *writer) mayBeHeld() bool { return w.committed.Load() < w.doubtful }

// insert stores the rows of a journalled range.
func (w *writer) insert(ctx context.Context, b *ledger.Batch) error {
	if w.mayBeHeld() {
		return w.reconcile(ctx, b)
	}
	return w.store.WriteRows(ctx, b, w.lease.Epoch())
}

// commitAgain looks whether the row of commits stands that was just inserted, and
// inserts it under the token of a new epoch where it does not: somebody removed
// it, and the server remembers the token.
func (w *writer) commitAgain(ctx context.Context, b *ledger.Batch) error {
	last, _, err := w.store.LastCommit(ctx, b.Incarnation)
	if err != nil || last.Same(b.Range) {
		return err
	}
	if b.Epoch, err = w.lease.Advance(ctx); err != nil {
		return err
	}
	return w.store.Commit(ctx, b, w.lease.Epoch())
}

// checkStep is the step before every batch, and now and then between batches.
func (w *writer) checkStep() steps.Step {
	return steps.Step{Verb: "look at the checkpoint", Do: w.checkAfterPause}
}

// checkAfterPause makes sure, after a pause, that the ledger still ends with the last
// commit: while nothing was asked of it, it may have been restored from an older
// copy.
func (w *writer) checkAfterPause(ctx context.Context) error {
	if time.Since(w.checked) < restorePause {
		return nil
	}
	return w.checkLastCommit(ctx)
}

// checkLastCommit makes sure that the ledger ends with the last commit.
func (w *writer) checkLastCommit(ctx context.Context) error {
	last, _, err := w.store.LastCommit(ctx, w.source.Incarnation)
	if err != nil {
		return err
	}
	if last.Last != w.last.Last {
		return fmt.Errorf("%w: at %d, not at %d", errMoved, last.Last, w.last.Last)
	}
	w.checked = time.Now()
	return nil
}

// restorePause is shorter than any restart of a server.
const restorePause = time.Second

// errMoved means that the ledger is not the one that was written last.
var errMoved = errors.New("the last commit is another than the one that was made last")

// journal records that a range is about to be written.
func (w *writer) journal(ctx context.Context, r ledger.Range) error {
	if w.journalled.Incarnation != r.Incarnation || w.journalled.Last < r.Last {
		w.journalled = r
	}
	return w.lease.Journal(ctx, r)
}
