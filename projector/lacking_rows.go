package projector

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// walkBack finds the committed ranges of which a table lacks rows, and writes the rows again,
// oldest first. A table lacks rows after a restore from an older copy or after the loss of a
// part. walkBack fails where the stream no longer has such a range.
func (rc *recovery) walkBack(ctx context.Context) (err error) {
	short, err := rc.short(ctx)
	if err != nil || len(short) == 0 {
		return err
	}
	defer func() {
		if err != nil {
			rc.withheld = nil // these values are of an earlier place
		}
	}()
	last := rc.committed.Load()
	rc.config.Log.Warn("tables have fewer rows than commits records, because they were restored from an older copy or lost rows: writing the rows again from the stream",
		"event", "tables_behind", "first", short[0].First, "last", short[len(short)-1].Last, "commits", len(short))
	for _, c := range short {
		if err := rc.mend(ctx, c); err != nil {
			return err
		}
	}
	rc.committed.Store(last)
	return rc.loadWithheld(ctx)
}

// shortPage is the number of commits that a walk back checks first. For each table, the newest
// of these commits with rows in the table shows whether the table is complete.
const shortPage = 64

// short lists, oldest first, the commits of which a table holds too few rows. short starts at
// the newest commit. For each table it stops at the first complete commit. Older rows are then
// complete, too, unless somebody removed rows by hand. short does not check a table without
// rows in the newest commits.
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

// lacks compares the rows of a commit with the rows that each table holds. A table that holds
// one commit counts as whole from then on.
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

// mend derives a committed range again, as at its commit, and writes the rows that tables lack.
// Messages that were deleted since leave no rows.
func (rc *recovery) mend(ctx context.Context, c ledger.Commit) error {
	r := c.Range
	defer rc.withoutLog(c)()
	messages, err := rc.source.ReadRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	if uint64(len(messages)) < r.Messages {
		info, err := rc.source.StillThere(ctx) // messages may have expired since the stream was opened
		if err != nil {
			return err
		}
		if first := rc.source.First(info.State.FirstSeq); first > r.First {
			return fmt.Errorf("a table lacks rows whose messages have expired: restore the table, or rebuild: %w", streamio.Expired(r.First, min(r.Last, first-1)))
		}
	}
	if err := rc.compare(ctx, r, messages); err != nil || len(messages) == 0 {
		return err
	}
	rc.committed.Store(r.First - 1)
	rc.translog.log = nil
	if err := rc.loadWithheld(ctx); err != nil {
		return err
	}
	b, err := rc.assemble(ctx, messages, r.Last)
	if err != nil {
		return err
	}
	if refused := reintroduced(b.quarantined); !b.Same(r) && len(refused) > 0 {
		traces, err := rc.store.Traces(ctx, r)
		if err != nil {
			return err
		}
		// These messages are recognised only now. A message with rows keeps them and gets no
		// more. A message without rows in events, duplicates and quarantine is quarantined.
		b.land()
		messages = slices.DeleteFunc(messages, func(m *streamio.Message) bool {
			return slices.Contains(refused, m.Position) && traces[m.Position.StreamSeq] != ledger.Trace{}
		})
		if len(messages) == 0 {
			return nil
		}
		rc.translog.log = nil
		if b, err = rc.assemble(ctx, messages, r.Last); err != nil {
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
	return rc.deleteWithheld(ctx, reintroduced(b.quarantined)) // quarantine lacked these rows when the range was verified
}

// quarantineAgain prepares a batch whose quarantine rows were lost with an older copy of the
// table. The messages held a withheld value. The quarantine stream gets the copies before the
// messages are deleted. The rows of these messages in tables of events are removed.
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
