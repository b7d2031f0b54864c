package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sync/errgroup"
)

// insertTimeLimit bounds one insert on the server. It is below the lease's
// expiry, so that a writer that lost its lease cannot still be writing when
// another has taken over.
const insertTimeLimit = 8 // seconds

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

// WriteRows stores the rows of a batch, one block per table, and returns once
// the server has accepted all of them; what the server has fsynced is its own
// configuration. The caller must have journalled the range before, and must
// hold the lease of epoch.
//
// A failed WriteRows may have stored any of the tables. Writing the same batch
// again is safe: the tokens make the server drop blocks that it has, and the
// keys collapse rows that it does not recognise. A ctx that ends does not cut
// it short.
func (l *Ledger) WriteRows(ctx context.Context, b *Batch, epoch uint64) error {
	var tables errgroup.Group
	tables.SetLimit(parallelInserts)
	for _, t := range b.tables() {
		if t.rows.Len() > 0 {
			tables.Go(func() error { return l.insert(ctx, t.table, t.rows, b.Range, epoch) })
		}
	}
	return tables.Wait()
}

// Commit stores the row of commits that makes the range count. Every row of
// the batch must be stored. It may be repeated like WriteRows.
func (l *Ledger) Commit(ctx context.Context, b *Batch, epoch uint64) error {
	commit := []commitRow{{
		Incarnation: b.Incarnation, First: b.First, Last: b.Last, Messages: b.Messages, Digest: string(b.Digest[:]),
		Rows: b.Rows(), Epoch: epoch, ProjectionVersion: ProjectionVersion, RecordedAt: b.RecordedAt,
	}}
	return l.insert(ctx, "commits", reflect.ValueOf(commit), b.Range, epoch)
}

// Discard removes the rows of a range that was written and never committed
// from every table. It returns once no query sees them.
func (l *Ledger) Discard(ctx context.Context, r Range) error {
	for _, t := range new(Batch).tables() {
		params := clickhouse.Parameters{
			"table": t.table, "incarnation": r.Incarnation.String(), "first": unsigned(r.First), "last": unsigned(r.Last),
		}
		if err := l.conn.Exec(l.with(ctx, params), statement("discard")); err != nil {
			return fmt.Errorf("discard rows of %s: %w", t.table, err)
		}
	}
	return nil
}

// token names one block: which stream, which table, which messages with which
// bytes, projected how. It can never name other rows.
func token(table string, r Range) string {
	return fmt.Sprintf("%s:%s:%d-%d:%s:%d", r.Incarnation, table, r.First, r.Last, hex.EncodeToString(r.Digest[:8]), ProjectionVersion)
}

// queryPrefix starts the query id of every insert of an incarnation, so that
// a take-over can kill what an earlier writer left running.
func queryPrefix(r Range) string { return r.Incarnation.String() + ":" }

func (l *Ledger) insert(ctx context.Context, table string, rows reflect.Value, r Range, epoch uint64) error {
	columns := columnsOf(rows.Type().Elem())
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	// A send must not be cut off by the caller's cancellation: its outcome
	// would be unknown for no reason.
	ctx = clickhouse.Context(context.WithoutCancel(ctx),
		clickhouse.WithQueryID(fmt.Sprintf("%s%d:%s:%d-%d:%s", queryPrefix(r), epoch, table, r.First, r.Last, nonce())),
		clickhouse.WithSettings(clickhouse.Settings{
			"insert_deduplication_token": token(table, r),
			"insert_deduplicate":         1,
			"async_insert":               0,
			"max_execution_time":         insertTimeLimit,
		}))
	batch, err := l.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return fmt.Errorf("prepare insert into %s: %w", table, err)
	}
	for i, c := range columns {
		if err := batch.Column(i).Append(gather(rows, c)); err != nil {
			_ = batch.Abort()
			return fmt.Errorf("insert into %s: column %s: %w: %w", table, c.name, ErrMismatch, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}
