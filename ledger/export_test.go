package ledger

import (
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Migrated has the newest tables and views, which take longer to make than most tests
// take.
var Migrated = embedded.TemplateOf(Open)
