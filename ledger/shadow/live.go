// Package shadow makes the second set of tables that a rebuild fills, and swaps it with the
// live set. An interrupted swap is finished before tables are migrated or filled. This package
// therefore also migrates.
package shadow

import (
	"context"
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

//go:embed statements/*.sql
var files embed.FS

// Live is the set of tables that queries see, with the operations on all of them.
type Live struct {
	ledger *ledger.Ledger
	sql    chsql.DB
}

// Of returns the live set of a ledger.
func Of(l *ledger.Ledger) Live { return Live{l, l.SQL(files)} }

// Migrate brings the database to the newest state and returns the applied steps; see
// [migrate.Up]. A swap that a rebuild was cut off in is finished first, unless the database is
// not this version's to change.
func (l Live) Migrate(ctx context.Context) ([]string, error) {
	if err := migrate.Check(ctx, l.sql.Conn); err != nil {
		return nil, err
	}
	if _, err := l.FinishSwap(ctx); err != nil {
		return nil, err
	}
	return migrate.Up(ctx, l.sql.Conn)
}

// Readers makes and renews the databases of tenants' readers; see [migrate.Readers].
func (l Live) Readers(ctx context.Context, tenants ...string) ([]string, error) {
	return migrate.Readers(ctx, l.sql.Conn, tenants...)
}

// Pending returns the steps that Migrate would apply.
func (l Live) Pending(ctx context.Context) ([]string, error) {
	return migrate.Pending(ctx, l.sql.Conn)
}

func (l Live) migrated(ctx context.Context) ([]uint32, error) {
	return migrate.Recorded(ctx, l.sql.Conn)
}
