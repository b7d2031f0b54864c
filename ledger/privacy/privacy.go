// Package privacy serves redactions and erasures: it reads the withheld values, erases the rows
// of a subject, and keeps the record of re-checks.
//
// The package imports package read, because an erasure reads the quarantined messages first.
package privacy

import (
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Privacy keeps erased and redacted content out of the tables of a ledger. A Privacy is safe
// for concurrent use.
type Tables struct {
	ledger *ledger.Ledger
	sql    chsql.DB
}

// Of returns the Privacy of a ledger.
func Of(l *ledger.Ledger) Tables { return Tables{l, l.SQL(files)} }
