package projector

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

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
	if refused := reintroduced(b.quarantined); !b.Same(r) && len(refused) > 0 {
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
	refused := !b.Same(r) && len(reintroduced(b.quarantined)) > 0
	b.Range, b.rows.Range = r, r
	rc.keepLog(c, b.rows)
	if refused {
		if err := rc.quarantineAgain(ctx, b); err != nil {
			return err
		}
	}
	if err := rc.reconcile(ctx, b.rows); err != nil {
		return err
	}
	b.land()
	return rc.deleteWithheld(ctx, reintroduced(b.quarantined)) // quarantine did not say so when the range was verified
}

// quarantineAgain prepares what a batch quarantines for a withheld value, of which the table
// that had its outcome is an older copy: the quarantine stream gets the copies before
// the messages are deleted, and what other tables may have of them as events goes.
func (rc *recovery) quarantineAgain(ctx context.Context, b batch) error {
	if err := rc.quarantine(ctx, b.quarantined); err != nil {
		return err
	}
	lacking, err := rc.store.Lacking(ctx, b.rows, b.First, b.RecordedAt)
	if err != nil {
		return err
	}
	places := reintroduced(b.quarantined)
	strange := slices.DeleteFunc(lacking, func(l ledger.Lack) bool { return ledger.OfRefused(l.Table) || l.Table == "log_hashes" })
	for i := range strange {
		strange[i].Strange = slices.DeleteFunc(strange[i].Strange, func(at ledger.Position) bool { return !slices.Contains(places, at) })
	}
	return rc.store.Evict(ctx, b.Range, strange)
}
