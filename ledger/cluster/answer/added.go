package answer

import (
	"fmt"
	"regexp"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// lastFrom matches the beginning of a FROM clause of the outermost SELECT. Other clauses are indented.
var lastFrom = regexp.MustCompile(`\nFROM\s`)

// withAdded returns the statement of a query with more columns, after its own.
func withAdded(q queries.Query, added []queries.Addition) (string, error) {
	if len(added) == 0 {
		return q.SQL, nil
	}
	found := lastFrom.FindAllStringIndex(q.SQL, -1)
	if len(found) != 1 {
		return "", fmt.Errorf("query %s: the statement has %d clauses FROM that are not indented, want 1", q.Name, len(found))
	}
	at := found[0][0]
	columns := ""
	for _, a := range added {
		columns += ",\n    " + a.Expression + " AS " + a.Column
	}
	return q.SQL[:at] + columns + q.SQL[at:], nil
}

// shortened is an answer without its last columns.
type shortened struct {
	read.Rows
	columns int
}

// Columns implements [read.Rows].
func (s *shortened) Columns() []read.ResultColumn { return s.Rows.Columns()[:s.columns] }

// Values implements [read.Rows].
func (s *shortened) Values() []any { return s.Rows.Values()[:s.columns] }
