package ledger

import (
	"context"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

// Migrated has the newest tables and views, which take longer to make than most tests
// take.
var Migrated = embeddedtest.TemplateOf(Open, func(ctx context.Context, l *Ledger) error {
	_, err := migrate.Up(ctx, l.conn)
	return err
})
