package ledger

import (
	"context"
	"embed"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/migrate"
)

//go:embed statements/*.sql
var statementFiles embed.FS

// statement returns the SQL of a file in statements/. A missing file is a
// programming error.
func statement(name string) string {
	text, err := statementFiles.ReadFile("statements/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

// Migrate brings the database to the newest state and returns what it applied; see
// [migrate.Up]. A swap that a rebuild was cut off in is finished first.
func (l *Ledger) Migrate(ctx context.Context) ([]string, error) {
	if _, err := l.FinishSwap(ctx); err != nil {
		return nil, err
	}
	return migrate.Up(ctx, l.conn)
}

// Pending returns what Migrate would apply.
func (l *Ledger) Pending(ctx context.Context) ([]string, error) { return migrate.Pending(ctx, l.conn) }

func (l *Ledger) migrated(ctx context.Context) ([]uint32, error) {
	return migrate.Recorded(ctx, l.conn)
}
