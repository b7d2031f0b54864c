// Package privacy has what redactions and erasures need of a ledger: the values that are
// withheld, the events that an erasure takes texts out of, and the record of re-checks.
//
// It imports package read, because an erasure reads the quarantined messages first.
package privacy

import (
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Privacy keeps what was erased or redacted out of a ledger's tables. It is safe for
// concurrent use.
type Tables struct {
	ledger *ledger.Ledger
	sql    chsql.DB
}

// Of returns the Privacy of a ledger.
func Of(l *ledger.Ledger) Tables { return Tables{l, l.SQL(files)} }
