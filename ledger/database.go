package ledger

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// CreateDatabase creates the database that dsn names where it is missing, which
// [Open] meets as an error that [NotMigrated] recognises. The user of dsn must be
// one who may. It may be repeated.
func CreateDatabase(ctx context.Context, dsn string) error {
	var database string
	l, err := open(ctx, dsn, func(o *clickhouse.Options) { database, o.Auth.Database = o.Auth.Database, "system" })
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.sql.Exec(ctx, "create_database", chsql.Params{"database": database}); err != nil {
		return fmt.Errorf("create the database %s: %w", database, err)
	}
	return nil
}
