package ledger

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// CreateDatabase creates the database of dsn if it is missing. [Open] reports a missing
// database as an error that [NotMigrated] recognises. The user of dsn needs the right to create
// databases. The call may be repeated.
func CreateDatabase(ctx context.Context, dsn string) error {
	l, database, err := OpenServer(ctx, dsn)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.sql.Exec(ctx, "create_database", chsql.Params{"database": chsql.Text(database)}); err != nil {
		return fmt.Errorf("create the database %s: %w", database, err)
	}
	return nil
}

// OpenServer is [Open] for the database system, which every server has. OpenServer also returns the
// name of the database of dsn, which may be missing.
func OpenServer(ctx context.Context, dsn string) (l *Ledger, database string, err error) {
	l, err = open(ctx, dsn, func(o *clickhouse.Options) { database, o.Auth.Database = o.Auth.Database, "system" })
	return l, database, err
}
