package archive

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

//go:embed statements/*.sql
var files embed.FS

// Tables copies the tables of a ledger to files and back. Safe for concurrent use.
type Tables struct{ sql chsql.DB }

// Of returns the tables of a ledger.
func Of(l *ledger.Ledger) Tables { return Tables{l.SQL(files)} }

// Names returns the names of the tables that a copy has, in alphabetical order.
func (t Tables) Names() (names []string) {
	for line := range strings.Lines(t.sql.Text("backup")) {
		if name, ok := named(line, 1); ok {
			names = append(names, name)
		}
	}
	return names
}

// named returns one field of a line "TABLE <from> AS <to>," of a statement.
func named(line string, field int) (name string, ok bool) {
	fields := strings.Fields(strings.TrimRight(line, ",\n"))
	if len(fields) != 4 || fields[0] != "TABLE" {
		return "", false
	}
	return fields[field], true
}

// Bytes returns the bytes of the tables on disk.
func (t Tables) Bytes(ctx context.Context) (uint64, error) {
	return t.number(ctx, "bytes", chsql.Params{"database": chsql.Text(t.sql.Database)})
}

func (t Tables) number(ctx context.Context, name string, params chsql.Params) (n uint64, err error) {
	if err := t.sql.Row(ctx, name, params).Scan(&n); err != nil {
		return 0, fmt.Errorf("measure the tables: %w", err)
	}
	return n, nil
}
