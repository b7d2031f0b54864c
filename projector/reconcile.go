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
func (p *Projector) mayBeHeld() bool { return p.committed.Load() < p.doubtful }

// insert stores the rows of a journalled range.
func (p *Projector) insert(ctx context.Context, b *ledger.Batch) error {
	if p.mayBeHeld() {
		return p.reconcile(ctx, b)
	}
	return p.store.WriteRows(ctx, b, p.lease.Epoch())
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
func (p *Projector) reconcile(ctx context.Context, b *ledger.Batch) error {
	// What stood between the last commit and this range may have rows, but for what
	// expired: it has had them from nobody knows whom, and they are all that is left.
	evicted, first, since := false, min(b.First, p.committed.Load()+1), b.RecordedAt
	if p.uncommitted(b) {
		since = p.last.RecordedAt // what stands behind the last commit may be of an earlier month than the batch
	}
	for try := range 3 {
		lacking, err := p.store.Lacking(ctx, b, first, since)
		if err != nil {
			return err
		}
		if !evicted {
			if evicted, err = p.evict(ctx, b, lacking); err != nil {
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
		p.config.Log.Warn("writing rows that tables lack", "event", "rows_restored", "first", b.First, "last", b.Last, "tables", names)
		if try == 0 && len(whole) > 0 {
			if err := p.store.WriteRows(ctx, b, p.lease.Epoch(), whole...); err != nil {
				return err
			}
			continue
		}
		if b.Epoch, err = p.lease.Advance(ctx); err != nil {
			return err
		}
		if err := p.store.WriteLacking(ctx, b, p.lease.Epoch(), lacking); err != nil {
			return err
		}
	}
	return nil
}

// uncommitted reports whether a batch is not one that is derived again after its commit.
func (p *Projector) uncommitted(b *ledger.Batch) bool { return b.First > p.last.Last }

// evict removes the rows of a range that was never committed and that are not those
// of its batch, and reports whether there were any. Their message is another one by
// now, is gone, or becomes something else since another stream withheld a value or
// was made anew, or since a message before it is gone; the journal under which they
// were written is lost or has gone on, and nothing vouches for them. Of a committed
// range they stay: what was deleted from the stream since has its rows. So does what
// a projector deleted for its value, in whatever range.
func (p *Projector) evict(ctx context.Context, b *ledger.Batch, lacking []ledger.Lack) (bool, error) {
	if !p.uncommitted(b) || !slices.ContainsFunc(lacking, func(l ledger.Lack) bool { return len(l.Strange) > 0 }) {
		return false, nil
	}
	from := b.Range
	from.First = min(b.First, p.committed.Load()+1)
	removed, err := p.reintroducedIn(ctx, from)
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
	p.config.Log.Warn("removing rows that were never committed and that the stream does not bring", "event", "rows_removed", "first", b.First, "last", b.Last, "tables", names)
	return true, p.store.Evict(ctx, b.Range, strange)
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
func (p *Projector) markAgain(ctx context.Context, b *ledger.Batch) error {
	last, _, err := p.store.LastCommit(ctx, b.Incarnation)
	if err != nil || last.Same(b.Range) {
		return err
	}
	if b.Epoch, err = p.lease.Advance(ctx); err != nil {
		return err
	}
	return p.store.Commit(ctx, b, p.lease.Epoch())
}

// walkBack finds the committed ranges of which a table lacks rows, since it was
// restored from an older copy or lost a part, and writes them again, oldest
// first. It ends where the stream no longer has such a range.
func (p *Projector) walkBack(ctx context.Context) (err error) {
	short, err := p.short(ctx)
	if err != nil || len(short) == 0 {
		return err
	}
	defer func() {
		if err != nil {
			p.withheld = nil // it is of an earlier place
		}
	}()
	last := p.committed.Load()
	p.config.Log.Warn("tables hold fewer rows than commits says: they are older than it, or lost some; writing them again from the stream",
		"event", "tables_behind", "first", short[0].First, "last", short[len(short)-1].Last, "commits", len(short))
	for _, c := range short {
		if err := p.mend(ctx, c); err != nil {
			return err
		}
	}
	p.committed.Store(last)
	return p.loadWithheld(ctx)
}

// shortPage is how many commits a walk back looks at first: in all tables, the
// newest of them that has rows there says whether the table is whole.
const shortPage = 64

// short lists, oldest first, the commits of which a table holds fewer rows than
// it should. It goes back from the newest one, for each table until the first
// one that the table holds: what is older is held, too, unless somebody removed
// rows by hand. A table of which the newest commits have no rows is not looked
// at.
func (p *Projector) short(ctx context.Context) ([]ledger.Commit, error) {
	var short []ledger.Commit
	whole := make(map[string]bool)
	before, page := uint64(math.MaxUint64), shortPage
	for {
		commits, err := p.store.CommitsBefore(ctx, p.source.Incarnation, before, page)
		if err != nil {
			return nil, err
		}
		held, err := p.store.Held(ctx, commits)
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
func (p *Projector) mend(ctx context.Context, c ledger.Commit) error {
	r := c.Range
	defer p.withoutLog(c)()
	if first := p.source.First(p.source.Info.State.FirstSeq); first > r.First {
		return fmt.Errorf("%w; a table lacks rows of it: restore the table, or rebuild", streamio.Expired(r.First, min(r.Last, first-1)))
	}
	messages, err := p.source.ReadRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, r, messages); err != nil || len(messages) == 0 {
		return err
	}
	p.committed.Store(r.First - 1)
	p.translog.log = nil
	if err := p.loadWithheld(ctx); err != nil {
		return err
	}
	b, err := p.assemble(ctx, messages)
	if err != nil {
		return err
	}
	if refused := reintroduced(b.refused); !b.Same(r) && len(refused) > 0 {
		traces, err := p.store.Traces(ctx, r)
		if err != nil {
			return err
		}
		// Recognised only now: it keeps the rows that it has, and gets no more. What has
		// none of its own in events, duplicates or quarantine is refused, once more or at last.
		p.landed(b)
		messages = slices.DeleteFunc(messages, func(m *streamio.Message) bool {
			return slices.Contains(refused, m.Position) && traces[m.Position.StreamSeq] != ledger.Trace{}
		})
		if len(messages) == 0 {
			return nil
		}
		p.translog.log = nil
		if b, err = p.assemble(ctx, messages); err != nil {
			return err
		}
	}
	refused := !b.Same(r) && len(reintroduced(b.refused)) > 0
	b.Range, b.batch.Range = r, r
	p.keepLog(c, b.batch)
	if refused {
		if err := p.refuseAgain(ctx, b); err != nil {
			return err
		}
	}
	if err := p.reconcile(ctx, b.batch); err != nil {
		return err
	}
	p.landed(b)
	return p.remove(ctx, reintroduced(b.refused)) // quarantine did not say so when the range was verified
}

// refuseAgain prepares what a batch refuses for a withheld value, of which the table
// that had its outcome is an older copy: the quarantine stream gets the copies before
// the messages are deleted, and what other tables may have of them as events goes.
func (p *Projector) refuseAgain(ctx context.Context, b built) error {
	if err := p.quarantine(ctx, b.refused); err != nil {
		return err
	}
	lacking, err := p.store.Lacking(ctx, b.batch, b.First, b.RecordedAt)
	if err != nil {
		return err
	}
	places := reintroduced(b.refused)
	strange := slices.DeleteFunc(lacking, func(l ledger.Lack) bool { return ledger.OfRefused(l.Table) || l.Table == "log_hashes" })
	for i := range strange {
		strange[i].Strange = slices.DeleteFunc(strange[i].Strange, func(at ledger.Position) bool { return !slices.Contains(places, at) })
	}
	return p.store.Evict(ctx, b.Range, strange)
}
