package shadow

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

var (
	// ErrRestoring means that a restore has not finished. No writer changes the tables before its
	// end.
	ErrRestoring = errors.New("a restore of a backup runs, or was interrupted: wait for its end, or run the same `ctxledger backup restore` again")
	// ErrOtherRestore means that the interrupted restore is one of another backup.
	ErrOtherRestore = errors.New("an interrupted restore of another backup has restored streams: run that one again, or begin with an empty installation")
)

// Rows returns the number of rows in the live tables that are derived from the streams.
func (l Live) Rows(ctx context.Context) (n uint64, err error) {
	if err := l.sql.Row(ctx, "rows", chsql.Params{"tables": chsql.Texts(swapped())}).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the rows of the tables: %w", err)
	}
	return n, nil
}

// Restoring returns [ErrRestoring] with the name of the backup if a restore has not finished. The
// call changes nothing.
func (l Live) Restoring(ctx context.Context) error {
	b, err := l.Beside(ctx)
	if err != nil {
		return err
	}
	s, err := b.state(ctx)
	if err != nil {
		return err
	}
	return s.restoring()
}

// restoring returns [ErrRestoring] with the name of the backup in the state restoring.
func (s setState) restoring() error {
	if s.name != stateRestoring {
		return nil
	}
	for name := range s.ids {
		return fmt.Errorf("%s: %w", name, ErrRestoring)
	}
	return ErrRestoring
}

// Backup returns the id of the backup that the set is being restored from. The id is zero if it is
// from none.
func (b *Set) Backup(ctx context.Context) (backup uuid.UUID, err error) {
	s, err := b.state(ctx)
	if s.name == stateRestoring {
		for _, id := range s.ids {
			backup = id
		}
	}
	return backup, err
}

// BeginRestore makes an empty set for the tables of a backup, which has a name and an id. From here
// until the swap no writer changes the live tables; see [ErrRestoring]. BeginRestore drops the tables
// of an earlier rebuild or restore, migrates the live tables, and opens the set.
func (b *Set) BeginRestore(ctx context.Context, name string, backup uuid.UUID) error {
	// No other program migrates while a restore has not finished.
	if _, err := migrate.Up(ctx, b.live.sql.Conn); err != nil {
		return err
	}
	s, err := b.state(ctx)
	if err != nil {
		return err
	}
	if s.name != stateRestoring {
		if err := b.Drop(ctx); err != nil {
			return err
		}
	}
	for _, name := range []string{"create_database", "create_state"} {
		if err := b.exec(ctx, name, nil); err != nil {
			return fmt.Errorf("create the database %s: %w", b.name, err)
		}
	}
	done, err := b.live.migrated(ctx)
	if err != nil {
		return err
	}
	// The state is first: from here on the tables are nobody's but the restore's.
	if err := b.mark(ctx, setState{stateRestoring, map[string]uuid.UUID{name: backup}, uint64(len(done))}); err != nil {
		return err
	}
	tables, err := b.find(ctx)
	if err != nil {
		return err
	}
	for _, at := range tables {
		if at.database != b.name || at.name == "rebuild_state" {
			continue
		}
		if err := b.live.sql.Change(ctx, "drop_table", b.params(chsql.Params{"table": chsql.Text(at.name)})); err != nil {
			return fmt.Errorf("drop %s of an earlier restore: %w", at.name, err)
		}
	}
	return b.connect(ctx)
}

// Upgrade brings restored tables of an earlier version to the newest state. Tables that the backup
// lacks are made, without rows.
func (b *Set) Upgrade(ctx context.Context) error {
	return migrate.Tables(ctx, b.Ledger.SQL(nil).Conn)
}

// Trim deletes the rows of a stream after a sequence, which must be the end of a commit.
func (b *Set) Trim(ctx context.Context, incarnation uuid.UUID, through uint64) error {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "through": chsql.Number(through)}
	params["tables"] = chsql.Tables(ledger.Tables())
	var later []string
	if err := Of(b.Ledger).sql.Row(ctx, "holding_later", params).Scan(&later); err != nil {
		return fmt.Errorf("look for tables with later rows: %w", err)
	}
	for _, table := range later {
		params["table"] = chsql.Text(table)
		if err := b.live.sql.Change(ctx, "trim", b.params(params)); err != nil {
			return fmt.Errorf("delete later rows of %s: %w", table, err)
		}
	}
	if err := b.live.sql.Change(ctx, "trim_commits", b.params(params)); err != nil {
		return fmt.Errorf("delete later rows of commits: %w", err)
	}
	return nil
}

// KeptTables returns the tables that no projection fills and that an installation must not lose, in
// alphabetical order: signed tree heads, limits, prices and reintroductions.
func KeptTables() []string { return []string{"checkpoints", "limits", "prices", "reintroductions"} }

// Keep copies to the live set what a swap leaves out: the tables of [KeptTables]. The live heads are
// those of a stream without events, which the restore replaced. The progress of re-checks is left out, so
// that they begin again. Keep may be repeated.
func (b *Set) Keep(ctx context.Context) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0, "max_partitions_per_insert_block": 0}))
	if err := b.live.sql.Change(ctx, "truncate", b.params(chsql.Params{"table": chsql.Text("checkpoints")})); err != nil {
		return fmt.Errorf("remove the heads of the replaced stream: %w", err)
	}
	for _, table := range KeptTables() {
		if err := b.exec(ctx, "keep", chsql.Params{"table": chsql.Text(table)}); err != nil {
			return fmt.Errorf("keep %s: %w", table, err)
		}
	}
	return nil
}
