// Package read answers questions about a ledger. It reads the answers of queries, windows of
// turns, projected events, quarantined messages, prices, and the records of a scope.
//
//	read.Of(l).Query    the rows of a statement, within [Limits]
//	read.Of(l).Scope…   the records of a scope in the order of the stream
//	turn                one turn's window and the history of its items
//
// The list of sessions and the search for ids read the projection ids of the table events. A table of
// sessions with a writer of its own would have to be kept exact through kills, erasures, rebuilds and
// restores. The rows of a projection are part of the rows of events.
//
// A [Reader] changes nothing but the table of prices.
package read

import (
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Reader answers questions about the content of a ledger. A Reader is safe for concurrent use.
type Reader struct {
	ledger *ledger.Ledger
	sql    chsql.DB
}

// Of returns the reader of a ledger.
func Of(l *ledger.Ledger) Reader { return Reader{l, l.SQL(files)} }

// text returns a statement in a form that the database of l can run. The database of a tenant's
// reader has views only.
func (l Reader) text(sql string) string {
	if chsql.IsReaderDatabase(l.sql.Database) {
		return forViews(sql)
	}
	return sql
}
