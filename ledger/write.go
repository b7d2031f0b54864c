package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"golang.org/x/sync/errgroup"
)

// insertTimeLimit bounds one insert on the server. The limit is below the expiry of the lease:
// a writer without a lease has stopped before another takes over.
const insertTimeLimit = "8" // seconds

// parallelInserts is how many tables of a batch are written at a time. An
// insert of few rows is mostly round trips and file creation.
const parallelInserts = 4

// Write is WriteRows and Commit.
func (l *Ledger) Write(ctx context.Context, b *Batch, epoch uint64) error {
	if err := l.WriteRows(ctx, b, epoch); err != nil {
		return err
	}
	return l.Commit(ctx, b, epoch)
}

// WriteRows stores the rows of a batch, one block per table, and returns once the server has
// accepted all of them; the configuration of the server decides about fsync. The caller must
// have journalled the range before, and must hold the lease of epoch.
//
// A failed WriteRows may have stored any of the tables. Writing the same batch again is safe.
// The server drops blocks with a known token, and equal keys collapse repeated rows. A ctx that
// ends does not cut it short. Where tables are named, only their rows are stored.
func (l *Ledger) WriteRows(ctx context.Context, b *Batch, epoch uint64, tables ...string) error {
	var inserts errgroup.Group
	inserts.SetLimit(parallelInserts)
	for _, t := range b.tables() {
		if t.Rows > 0 && (len(tables) == 0 || slices.Contains(tables, t.Table)) {
			inserts.Go(func() error { return l.insert(ctx, t, b.Range, b.rules(), epoch) })
		}
	}
	return inserts.Wait()
}

// WriteLacking stores only rows that tables lack. No row is stored twice. The batch must have
// an epoch that nothing was written under: the token of an earlier one names the whole block.
// Otherwise it is like WriteRows.
func (l *Ledger) WriteLacking(ctx context.Context, b *Batch, epoch uint64, lacking []Lack) error {
	var inserts errgroup.Group
	inserts.SetLimit(parallelInserts)
	for _, t := range b.tables() {
		for _, lack := range lacking {
			if lack.Table == t.Table {
				some := t.Pick(among(t.Numbers("stream_seq"), lack.Sequences)).Of(t.Table)
				inserts.Go(func() error { return l.insert(ctx, some, b.Range, b.rules(), epoch) })
			}
		}
	}
	return inserts.Wait()
}

// among reports for each element of all whether some contains it.
func among(all, some []uint64) []bool {
	is := make(map[uint64]bool, len(some))
	for _, seq := range some {
		is[seq] = true
	}
	named := make([]bool, len(all))
	for i, seq := range all {
		named[i] = is[seq]
	}
	return named
}

// Commit stores the row of commits that makes the range count. Every row of the batch must be
// stored. The call may be repeated, like WriteRows. Before the commit it decides which tellings of
// logs count.
func (l *Ledger) Commit(ctx context.Context, b *Batch, epoch uint64) error {
	if err := retell(context.WithoutCancel(ctx), l, b, epoch); err != nil {
		return err
	}
	commit := column.TableOf(tableOfCommits, row.Commit{
		Incarnation: b.Incarnation, First: b.First, Last: b.Last, Messages: b.Messages, Digest: string(b.Digest[:]),
		Rows: b.Rows(), Epoch: epoch, ProjectionVersion: uint32(b.rules()), WriterRules: uint32(NewestRules), RecordedAt: b.RecordedAt,
		TreeSize: uint64(b.Log.Tree.Size), TreeRoot: string(b.Log.Root[:]), TreeFrontier: string(b.Log.Tree.FrontierBytes()),
	})
	return l.insert(ctx, commit, b.Range, b.rules(), epoch)
}

// Discard removes the rows of an uncommitted range from every table. The rows of refused
// messages, at the given sequences, stay. The call returns once no query sees the rows.
func (l *Ledger) Discard(ctx context.Context, r Range, refused []uint64) error {
	for _, table := range Tables() {
		params := chsql.Params{
			"table": chsql.Text(table), "incarnation": chsql.UUID(r.Incarnation), "first": chsql.Number(r.First), "last": chsql.Number(r.Last),
			"except": chsql.Numbers(nil),
		}
		if OfRefused(table) {
			params["except"] = chsql.Numbers(refused)
		}
		if err := l.sql.Exec(ctx, "discard", params); err != nil {
			return fmt.Errorf("discard rows of %s: %w", table, err)
		}
	}
	return nil
}

// OfRefused reports whether a table has rows of refused messages: quarantine, and the table of
// replays.
func OfRefused(table string) bool { return table == "quarantine" || table == "replays" }

// token names one block: which stream, which table, which messages with which bytes, projected
// how, and by which journal entry. A token never names other rows, and no later entry has it.
// Otherwise the server would drop equal rows after a removal or a restore, for as long as it
// remembers the token.
func token(table string, r Range, rules Rules) string {
	return fmt.Sprintf("%s:%s:%d-%d:%s:%d:%d", r.Incarnation, table, r.First, r.Last, hex.EncodeToString(r.Digest[:8]), rules, r.Epoch)
}

// queryPrefix begins the query id of every insert of an incarnation. A take-over kills running
// inserts of earlier writers by it.
func queryPrefix(r Range) string { return r.Incarnation.String() + ":" }

// insert stores a table's rows of a range under its token. A send must not be
// cut off by the caller's cancellation: its outcome would be unknown for no
// reason.
func (l *Ledger) insert(ctx context.Context, b column.Table, r Range, rules Rules, epoch uint64) (err error) {
	ctx, done := traced(ctx, "insert into "+b.Table)
	defer func() { done(err) }()
	limit, ordered := l.replicas.ordered(b.Table)
	settings := append([]ch.Setting{
		{Key: "insert_deduplication_token", Value: token(b.Table, r, rules), Important: true},
		{Key: "insert_deduplicate", Value: "1", Important: true},
		{Key: "async_insert", Value: "0", Important: true},
		{Key: "max_execution_time", Value: limit, Important: true},
		// An insert would otherwise collapse the repeats within its own block first. None are
		// left: a sequence gives a table one row. Repeats of other blocks collapse as ever, in
		// merges and under FINAL.
		{Key: "optimize_on_insert", Value: "0", Important: true},
	}, ordered...)
	ctx = context.WithoutCancel(ctx)
	return l.replicas.inTurn(ctx, b.Table, func() error {
		id := fmt.Sprintf("%s%d:%s:%d-%d:%s", queryPrefix(r), epoch, b.Table, r.First, r.Last, rand.Text()[:8])
		return l.InsertBlock(ctx, b, id, settings)
	})
}

// InsertBlock stores rows in one block.
func (l *Ledger) InsertBlock(ctx context.Context, b column.Table, id string, settings []ch.Setting) error {
	if err := l.sender.insert(ctx, b, id, settings); err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, err)
	}
	return nil
}
