package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
)

// errNotTaken means that rows were written and are not there: somebody removes
// them at the same time.
var errNotTaken = errors.New("the table does not hold rows that it took")

// reconcile makes the tables hold every row of a range of which some may be
// written. It compares, and writes what is lacking.
//
// A table with none of its rows gets its block under the tokens of the range: where
// an insert is still on its way, the server takes one of the two. One that lacks
// them even then had them and lost them, and the server remembers the token. One
// with some of its rows had them all, because a block is there or is not. Either
// gets the rows that it lacks, and no other, under the tokens of a new epoch, so
// that those that are left do not stand twice.
func (w *writer) reconcile(ctx context.Context, b *ledger.Batch) error {
	// What stood between the last commit and this range may have rows, but for what
	// expired: it has had them from nobody knows whom, and they are all that is left.
	first, since := min(b.First, w.committed.Load()+1), b.RecordedAt
	if w.uncommitted(b) {
		since = w.last.RecordedAt // what stands behind the last commit may be of an earlier month than the batch
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

// A repair is what a try to make the tables hold a range does.
type repair int

const (
	nothingLacks repair = iota
	writeTables         // that have none of the rows, under the tokens of the range
	writeRows           // under the tokens of a new epoch
	notTaken            // give up: rows that were written are not there
)

// repairOf returns what the try of this number, from 0 on, does about what tables lack.
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

// uncommitted reports whether a batch is not one that is derived again after its commit.
func (w *writer) uncommitted(b *ledger.Batch) bool { return b.First > w.last.Last }

// evict removes the rows of a range that was never committed and that are not those
// of its batch, and reports whether there were any. Their message is another one by
// now, is gone, or becomes something else since another stream withheld a value or
// was made anew, or since a message before it is gone; the journal under which they
// were written is lost or has gone on, and nothing vouches for them. Of a committed
// range they stay: what was deleted from the stream since has its rows. So does what
// a projector deleted for its value, in whatever range.
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
	w.config.Log.Warn("removing rows that were never committed and that the stream does not bring", "event", "rows_removed", "first", b.First, "last", b.Last, "tables", names)
	return true, w.store.Evict(ctx, b.Range, strange)
}

// namesOf returns the tables that lack rows, and those that have none.
func namesOf(lacking []ledger.Lack) (all, whole []string) {
	for _, l := range lacking {
		all = append(all, l.Table)
		if l.Whole {
			whole = append(whole, l.Table)
		}
	}
	return all, whole
}
