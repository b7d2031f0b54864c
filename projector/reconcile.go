package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
)

// errNotTaken means that rows are missing although the server accepted them: another client
// deletes them at the same time.
var errNotTaken = errors.New("rows are missing right after they were written, so another client deletes them: stop that client")

// reconcile makes the tables hold every row of a range whose rows may be partly written.
// reconcile compares the rows, and writes the missing ones.
//
// A table without any of the rows gets its block under the tokens of the range. If an insert is
// still running, the server accepts only one of the two. If the rows are missing even then, the
// table had and lost them, and the server remembers the token. A table with some of the rows
// had all of them, because an insert is atomic. In these two cases reconcile writes only the
// missing rows, under the tokens of a new epoch, so that no row is stored twice.
func (w *writer) reconcile(ctx context.Context, b *ledger.Batch) error {
	// Messages between the last commit and this range may have rows. An expired message keeps
	// its rows: their writer is unknown, and the rows are all that is left of it.
	first, since := min(b.First, w.committed.Load()+1), b.RecordedAt
	if w.uncommitted(b) {
		since = w.last.RecordedAt // messages after the last commit may be of an earlier month than the batch
	}
	evicted := false
	for try := range 3 {
		lacking, err := w.store.Lacking(ctx, b, first, since)
		if err != nil {
			return err
		}
		if !evicted {
			if evicted, err = w.evict(ctx, b, lacking); err != nil {
				return err
			} else if evicted {
				continue
			}
		}
		lacking = slices.DeleteFunc(lacking, func(l ledger.Lack) bool { return len(l.Sequences) == 0 })
		names, whole := namesOf(lacking)
		repair := repairOf(try, lacking)
		if repair == writeTables || repair == writeRows {
			w.config.Log.Warn("writing rows that tables lack", "event", "rows_restored", "first", b.First, "last", b.Last, "tables", names)
		}
		switch repair {
		case nothingLacks:
			return nil
		case notTaken:
			return fmt.Errorf("%s: %w", strings.Join(names, ", "), errNotTaken)
		case writeTables:
			err = w.store.WriteRows(ctx, b, w.lease.Epoch(), whole...)
		case writeRows:
			if b.Epoch, err = w.lease.Advance(ctx); err == nil {
				err = w.store.WriteLacking(ctx, b, w.lease.Epoch(), lacking)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A repair is the action of one attempt to make the tables hold a range.
type repair int

const (
	nothingLacks repair = iota
	writeTables         // write the tables without any of the rows, under the tokens of the range
	writeRows           // write the missing rows, under the tokens of a new epoch
	notTaken            // give up: rows that were written are missing
)

// repairOf returns the action for missing rows. Attempts count from 0.
func repairOf(try int, lacking []ledger.Lack) repair {
	switch {
	case len(lacking) == 0:
		return nothingLacks
	case try == 2:
		return notTaken
	case try == 0 && slices.ContainsFunc(lacking, func(l ledger.Lack) bool { return l.Whole }):
		return writeTables
	}
	return writeRows
}

// uncommitted reports whether a batch is new, and not derived again after its commit.
func (w *writer) uncommitted(b *ledger.Batch) bool { return b.First > w.last.Last }

// evict removes rows of an uncommitted range that differ from the rows of its batch, and
// reports whether there were any. The message of such a row was replaced or deleted. Or it now
// has another result: another stream withheld a value or was made again, or an earlier message
// is gone. Nothing confirms these rows, because their journal is lost or newer. evict keeps the
// rows of a committed range, because their messages may have been deleted since. evict also keeps
// the rows of messages that a projector deleted for a withheld value.
func (w *writer) evict(ctx context.Context, b *ledger.Batch, lacking []ledger.Lack) (bool, error) {
	if !w.uncommitted(b) || !slices.ContainsFunc(lacking, func(l ledger.Lack) bool { return len(l.Strange) > 0 }) {
		return false, nil
	}
	from := b.Range
	from.First = min(b.First, w.committed.Load()+1)
	removed, err := w.reintroducedIn(ctx, from)
	if err != nil {
		return false, err
	}
	there := make(map[uint64]bool)
	for _, list := range b.Places() {
		for _, at := range list {
			there[at.StreamSeq] = true
		}
	}
	var strange []ledger.Lack
	for _, l := range lacking {
		l.Strange = slices.DeleteFunc(l.Strange, func(at ledger.Position) bool {
			return ledger.OfRefused(l.Table) && !there[at.StreamSeq] && slices.ContainsFunc(removed, func(gone ledger.Position) bool {
				return gone.StreamSeq == at.StreamSeq && gone.RecordedAt.Equal(at.RecordedAt)
			})
		})
		if len(l.Strange) > 0 {
			strange = append(strange, l)
		}
	}
	if len(strange) == 0 {
		return false, nil
	}
	names, _ := namesOf(strange)
	w.config.Log.Warn("removing rows that were never committed and whose messages the stream no longer has", "event", "rows_removed", "first", b.First, "last", b.Last, "tables", names)
	return true, w.store.Evict(ctx, b.Range, strange)
}

// namesOf returns the tables without some of the rows, and the tables without any of them.
func namesOf(lacking []ledger.Lack) (all, whole []string) {
	for _, l := range lacking {
		all = append(all, l.Table)
		if l.Whole {
			whole = append(whole, l.Table)
		}
	}
	return all, whole
}
