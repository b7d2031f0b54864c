package ledger

import (
	"embed"
	"io/fs"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var statementFiles embed.FS

// SQL returns the ledger's connections, for the statement files of a package next to
// this one.
func (l *Ledger) SQL(files fs.FS) chsql.DB {
	return chsql.DB{Conn: l.conn, Changes: l.sql.Changes, Files: files, Database: l.sql.Database}
}

// Tables returns the names of the tables of a batch, in the order in which they are
// written.
func Tables() []string {
	var names []string
	for _, t := range new(Batch).tables() {
		names = append(names, t.Table)
	}
	return names
}
