package ledger

import (
	"context"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Migrated has the newest tables and views, which take longer to make than most tests
// take.
var Migrated = embedded.TemplateOf(Open)

// MigrateTo applies the migrations up to and including version, as a release that
// ended there did.
func (l *Ledger) MigrateTo(ctx context.Context, version uint32) error {
	for _, m := range Migrations() {
		if m.Version > version {
			break
		}
		if err := l.apply(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
