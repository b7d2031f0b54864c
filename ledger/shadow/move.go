package shadow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

// placed lists the tables with rows of streams that a projection does not fill. A move copies them.
func placed() []string { return []string{"checkpoints", "reintroductions"} }

// carryOver copies from another server the rows that the streams do not bring again.
func carryOver(ctx context.Context, b *Set, params chsql.Params) error {
	filled, err := b.source.filled(ctx)
	if err != nil {
		return err
	}
	for _, table := range filled {
		params["table"] = chsql.Text(table)
		if err := b.source.sql.Copy(ctx, "left", params, b.live.sql, "insert_rows", b.params(params)); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

// parallelChanges is how many tables change at a time. Each change is mostly a wait for the server, and
// readers wait for all of them.
const parallelChanges = 6

// Adopt adds the rows of a set to the live tables of its server, and what else the source keeps of the
// streams. The live tables must have no rows of the streams. A call that was cut off may have added some of
// them; see [Live.Remove].
func (l Live) Adopt(ctx context.Context, b *Set, incarnations []uuid.UUID) error {
	// The server takes no parameter after FROM, so this connection is in the database of the set.
	within := clickhouse.Context(ctx, clickhouse.WithParameters(b.params(nil).Encoded()))
	var g errgroup.Group
	g.SetLimit(parallelChanges)
	for _, s := range migrate.Split(l.sql.Text("adopt")) {
		g.Go(func() error { return b.Ledger.SQL(files).Conn.Exec(within, s) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("add the rows of the set: %w", err)
	}
	of := chsql.Params{"incarnations": chsql.UUIDs(incarnations), "table": chsql.Text("retold")}
	if err := b.source.sql.Copy(ctx, "retold_of", of, l.sql, "insert_live", of); err != nil {
		return fmt.Errorf("copy retold: %w", err)
	}
	for _, table := range placed() {
		of["table"] = chsql.Text(table)
		if err := b.source.sql.Copy(ctx, "rows_of", of, l.sql, "insert_live", of); err != nil {
			return fmt.Errorf("copy %s: %w", table, err)
		}
	}
	return nil
}

// Remove removes all rows of streams. The call returns once no query sees them, and may be repeated. The
// server removes the bytes with its next merges of the parts.
func (l Live) Remove(ctx context.Context, incarnations []uuid.UUID) error {
	of := chsql.Params{"incarnations": chsql.UUIDs(incarnations)}
	if err := l.sql.Change(ctx, "remove_retold", of); err != nil {
		return fmt.Errorf("remove rows of retold: %w", err)
	}
	remove := func(table string) error {
		if err := l.sql.Change(ctx, "remove", chsql.Params{"incarnations": chsql.UUIDs(incarnations), "table": chsql.Text(table)}); err != nil {
			return fmt.Errorf("remove rows of %s: %w", table, err)
		}
		return nil
	}
	tables, err := l.holding(ctx, incarnations)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(parallelChanges)
	for _, table := range tables {
		if table != "events" {
			g.Go(func() error { return remove(table) })
		}
	}
	if err := g.Wait(); err != nil || !slices.Contains(tables, "events") {
		return err
	}
	return remove("events") // a second call finds the rows of retold by them
}

// Holds reports whether a table has rows of streams.
func (l Live) Holds(ctx context.Context, incarnations []uuid.UUID) (bool, error) {
	tables, err := l.holding(ctx, incarnations)
	return len(tables) > 0, err
}

// holding returns the tables with rows of streams.
func (l Live) holding(ctx context.Context, incarnations []uuid.UUID) (tables []string, err error) {
	params := chsql.Params{"tables": chsql.Tables(append(append(placed(), "commits"), ledger.Tables()...)), "incarnations": chsql.UUIDs(incarnations)}
	if err := l.sql.Row(ctx, "holding", params).Scan(&tables); err != nil {
		return nil, fmt.Errorf("look for tables with rows of the streams: %w", err)
	}
	return tables, nil
}
