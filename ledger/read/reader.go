package read

import (
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Reader answers questions about what a ledger holds. It is safe for concurrent use.
type Reader struct {
	ledger *ledger.Ledger
	sql    chsql.DB
}

// ReaderOf returns the reader of a ledger.
func Of(l *ledger.Ledger) Reader { return Reader{l, l.SQL(files)} }
