package ledger

import (
	"context"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

// Migrated is a database with the newest tables and views, made once for all tests.
var Migrated = embeddedtest.TemplateOf(Open, func(ctx context.Context, l *Ledger) error {
	_, err := migrate.Up(ctx, l.conn)
	return err
})
