// Package translog reads and writes the ledger's part of the transparency log: leaf
// hashes, tiles and signed tree heads. Package proof has the log's arithmetic.
package translog

import (
	"embed"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Logs reads the transparency logs of the streams, and keeps their signed tree heads. Safe for
// concurrent use.
type Logs struct{ sql chsql.DB }

// Of returns the transparency logs of a ledger.
func Of(l *ledger.Ledger) Logs { return Logs{l.SQL(files)} }
