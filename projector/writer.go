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

// A writer commits batches to the ledger, one after the other, under the lease. One goroutine
// owns a writer.
type writer struct {
	*shared
	lease      *lease.Lease
	signer     *signing.Signer // of the tree heads; nil signs none
	last       ledger.Range    // the last commit; the zero Range without a commit
	offered    ledger.Range    // the range of the last attempt to commit, successful or not
	checked    time.Time       // when the ledger was last seen to end with last
	doubtful   uint64          // up to this sequence there may be rows or tokens without a commit
	journalled ledger.Range    // the furthest range that this projector has begun to write
}

// commit commits a range whose rows are stored. If the range may have been written before,
// commit checks that its row of commits exists. Somebody may have removed that row while the
// server still knows its token.
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
	if len(b.changes) > 0 {
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

// mayBeHeld reports whether an earlier holder may have written rows of the next range. Rows of
// deleted messages before that range count, too.
func (w *writer) mayBeHeld() bool { return w.committed.Load() < w.doubtful }

// insert stores the rows of a journalled range.
func (w *writer) insert(ctx context.Context, b *ledger.Batch) error {
	if w.mayBeHeld() {
		return w.reconcile(ctx, b)
	}
	return w.store.WriteRows(ctx, b, w.lease.Epoch())
}

// commitAgain checks that the row of commits exists after its insert. If not, somebody removed
// an earlier row and the server remembers the token. commitAgain then inserts the row under the
// token of a new epoch.
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

// checkStep runs before every batch and before its commit, and periodically between batches.
func (w *writer) checkStep() steps.Step {
	return steps.Step{Verb: "look at the checkpoint", Do: w.checkAfterPause}
}

// checkAfterPause checks, after a pause, that the ledger still ends with the last commit.
// During the pause it may have been restored from an older copy.
func (w *writer) checkAfterPause(ctx context.Context) error {
	if time.Since(w.checked) < restorePause {
		return nil
	}
	return w.checkLastCommit(ctx)
}

// checkLastCommit checks that the ledger ends with the last commit.
func (w *writer) checkLastCommit(ctx context.Context) error {
	last, _, err := w.store.LastCommit(ctx, w.source.Incarnation)
	if err != nil {
		return err
	}
	if last.Last != w.last.Last {
		return fmt.Errorf("%w: it ends at sequence %d, not at %d", errMoved, last.Last, w.last.Last)
	}
	w.checked = time.Now()
	return nil
}

// restorePause is shorter than any restart of a server.
const restorePause = time.Second

// errMoved means that the ledger was replaced since the last write.
var errMoved = errors.New("the last commit of the ledger is not the one that this projector made last")

// journal records in the lease entry that a range will be written.
func (w *writer) journal(ctx context.Context, r ledger.Range) error {
	if w.journalled.Incarnation != r.Incarnation || w.journalled.Last < r.Last {
		w.journalled = r
	}
	return w.lease.Journal(ctx, r)
}
