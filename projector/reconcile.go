package projector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// errNotTaken means that rows were written and are not there: somebody removes
// them at the same time.
var errNotTaken = errors.New("the table does not hold rows that it took")

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
	evicted, first, since := false, min(b.First, w.committed.Load()+1), b.RecordedAt
	if w.uncommitted(b) {
		since = w.last.RecordedAt // what stands behind the last commit may be of an earlier month than the batch
	}
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
		if len(lacking) == 0 {
			return nil
		}
		names, whole := namesOf(lacking)
		if try == 2 {
			return fmt.Errorf("%s: %w", strings.Join(names, ", "), errNotTaken)
		}
		w.config.Log.Warn("writing rows that tables lack", "event", "rows_restored", "first", b.First, "last", b.Last, "tables", names)
		if try == 0 && len(whole) > 0 {
			if err := w.store.WriteRows(ctx, b, w.lease.Epoch(), whole...); err != nil {
				return err
			}
			continue
		}
		if b.Epoch, err = w.lease.Advance(ctx); err != nil {
			return err
		}
		if err := w.store.WriteLacking(ctx, b, w.lease.Epoch(), lacking); err != nil {
			return err
		}
	}
	return nil
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

// markAgain looks whether the row of commits stands that was just inserted, and
// inserts it under the token of a new epoch where it does not: somebody removed
// it, and the server remembers the token.
func (w *writer) markAgain(ctx context.Context, b *ledger.Batch) error {
	last, _, err := w.store.LastCommit(ctx, b.Incarnation)
	if err != nil || last.Same(b.Range) {
		return err
	}
	if b.Epoch, err = w.lease.Advance(ctx); err != nil {
		return err
	}
	return w.store.Commit(ctx, b, w.lease.Epoch())
}

// walkBack finds the committed ranges of which a table lacks rows, since it was
// restored from an older copy or lost a part, and writes them again, oldest
// first. It ends where the stream no longer has such a range.
func (rc *recovery) walkBack(ctx context.Context) (err error) {
	short, err := rc.short(ctx)
	if err != nil || len(short) == 0 {
		return err
	}
	defer func() {
		if err != nil {
			rc.withheld = nil // it is of an earlier place
		}
	}()
	last := rc.committed.Load()
	rc.config.Log.Warn("tables hold fewer rows than commits says: they are older than it, or lost some; writing them again from the stream",
		"event", "tables_behind", "first", short[0].First, "last", short[len(short)-1].Last, "commits", len(short))
	for _, c := range short {
		if err := rc.mend(ctx, c); err != nil {
			return err
		}
	}
	rc.committed.Store(last)
	return rc.loadWithheld(ctx)
}

// shortPage is how many commits a walk back looks at first: in all tables, the
// newest of them that has rows there says whether the table is whole.
const shortPage = 64

// short lists, oldest first, the commits of which a table holds fewer rows than
// it should. It goes back from the newest one, for each table until the first
// one that the table holds: what is older is held, too, unless somebody removed
// rows by hand. A table of which the newest commits have no rows is not looked
// at.
func (rc *recovery) short(ctx context.Context) ([]ledger.Commit, error) {
	var short []ledger.Commit
	whole := make(map[string]bool)
	before, page := uint64(math.MaxUint64), shortPage
	for {
		commits, err := rc.store.CommitsBefore(ctx, rc.source.Incarnation, before, page)
		if err != nil {
			return nil, err
		}
		held, err := rc.store.Held(ctx, commits)
		if err != nil {
			return nil, err
		}
		for i, c := range commits {
			before = c.First
			if lacks(whole, c.Rows, held[i]) {
				short = append(short, c)
			}
		}
		if len(commits) < page || allTrue(whole) {
			slices.Reverse(short)
			return short, nil
		}
		page = min(4*page, 4096)
	}
}

// lacks holds what a commit has in each table against what the table holds. A
// table that holds one commit is whole from then on.
func lacks(whole map[string]bool, rows, held map[string]uint64) (lacks bool) {
	for table, n := range rows {
		if !whole[table] {
			whole[table] = held[table] >= n
			lacks = lacks || !whole[table]
		}
	}
	return lacks
}

func allTrue(m map[string]bool) bool {
	for _, v := range m {
		if !v {
			return false
		}
	}
	return true
}

// mend derives a committed range again, as it was when it was committed, and
// writes what tables lack of it. Messages that were deleted since leave no rows.
func (rc *recovery) mend(ctx context.Context, c ledger.Commit) error {
	r := c.Range
	defer rc.withoutLog(c)()
	if first := rc.source.First(rc.source.Info.State.FirstSeq); first > r.First {
		return fmt.Errorf("%w; a table lacks rows of it: restore the table, or rebuild", streamio.Expired(r.First, min(r.Last, first-1)))
	}
	messages, err := rc.source.ReadRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	if err := rc.compare(ctx, r, messages); err != nil || len(messages) == 0 {
		return err
	}
	rc.committed.Store(r.First - 1)
	rc.translog.log = nil
	if err := rc.loadWithheld(ctx); err != nil {
		return err
	}
	b, err := rc.assemble(ctx, messages)
	if err != nil {
		return err
	}
	if refused := reintroduced(b.refused); !b.Same(r) && len(refused) > 0 {
		traces, err := rc.store.Traces(ctx, r)
		if err != nil {
			return err
		}
		// Recognised only now: it keeps the rows that it has, and gets no more. What has
		// none of its own in events, duplicates or quarantine is refused, once more or at last.
		b.land()
		messages = slices.DeleteFunc(messages, func(m *streamio.Message) bool {
			return slices.Contains(refused, m.Position) && traces[m.Position.StreamSeq] != ledger.Trace{}
		})
		if len(messages) == 0 {
			return nil
		}
		rc.translog.log = nil
		if b, err = rc.assemble(ctx, messages); err != nil {
			return err
		}
	}
	refused := !b.Same(r) && len(reintroduced(b.refused)) > 0
	b.Range, b.batch.Range = r, r
	rc.keepLog(c, b.batch)
	if refused {
		if err := rc.refuseAgain(ctx, b); err != nil {
			return err
		}
	}
	if err := rc.reconcile(ctx, b.batch); err != nil {
		return err
	}
	b.land()
	return rc.remove(ctx, reintroduced(b.refused)) // quarantine did not say so when the range was verified
}

// refuseAgain prepares what a batch refuses for a withheld value, of which the table
// that had its outcome is an older copy: the quarantine stream gets the copies before
// the messages are deleted, and what other tables may have of them as events goes.
func (rc *recovery) refuseAgain(ctx context.Context, b built) error {
	if err := rc.quarantine(ctx, b.refused); err != nil {
		return err
	}
	lacking, err := rc.store.Lacking(ctx, b.batch, b.First, b.RecordedAt)
	if err != nil {
		return err
	}
	places := reintroduced(b.refused)
	strange := slices.DeleteFunc(lacking, func(l ledger.Lack) bool { return ledger.OfRefused(l.Table) || l.Table == "log_hashes" })
	for i := range strange {
		strange[i].Strange = slices.DeleteFunc(strange[i].Strange, func(at ledger.Position) bool { return !slices.Contains(places, at) })
	}
	return rc.store.Evict(ctx, b.Range, strange)
}
