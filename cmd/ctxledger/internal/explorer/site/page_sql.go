package site

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// mostOwnRows is how many rows of a statement of one's own the page shows.
const mostOwnRows = 1000

// errNoSQL means that statements of one's own are not answered here.
var errNoSQL = errors.New("statements of your own need `ctxledger serve` with --clickhouse, a user of ClickHouse that may only read, and no --tokens: use `ctxledger query --sql`, or a client of ClickHouse")

// errSQLOnCluster means that a statement would be answered by one shard only.
var errSQLOnCluster = errors.New("statements of your own do not work on a cluster yet: give them to each shard with a client of ClickHouse")

// statement shows the box for SQL, and the answer to a statement. A statement knows no tenant, so
// that no token allows one. The user of the ledger must be a reader: the server refuses the rest.
func (s *site) statement(r *http.Request, l *ledger.Ledger) (shown, error) {
	if !s.SQL || access.Of(r.Context()).Name != "" {
		return shown{}, errNoSQL
	}
	if l == nil {
		return shown{}, errSQLOnCluster
	}
	if setting, err := l.ReadOnly(r.Context()); err != nil || setting == "0" {
		return shown{}, errors.Join(err, errNoSQL)
	}
	content := view.SQLPage{
		TablesPage: view.TablesPage{Heading: "SQL", Sub: "a statement of your own on the views; it can only read"},
		Statement:  r.URL.Query().Get("q"), Views: migrate.Views(),
	}
	page := view.Page{Title: "SQL", Nav: "questions"}
	if strings.TrimSpace(content.Statement) != "" {
		t, err := ownRows(r, l, content.Statement)
		if errors.Is(err, read.ErrStatement) || errors.Is(err, read.ErrReadOnly) || errors.Is(err, read.ErrLimit) {
			content.Problem, err = ui.Safe(err.Error()), nil
		}
		if err != nil {
			return shown{}, err
		}
		if content.Problem == "" {
			content.Tables = []view.Table{t}
		}
	}
	page.Content = content
	return shown{kind: "sql", page: page}, nil
}

// ownRows asks a statement, and returns its first rows.
func ownRows(r *http.Request, l *ledger.Ledger, sql string) (view.Table, error) {
	t := view.Table{Name: "Answer"}
	result, err := read.Of(l).Query(r.Context(), sql, nil, read.Limits{Time: patience, Rows: mostRows, Memory: 1 << 30})
	if err != nil {
		return t, err
	}
	for _, c := range result.Columns() {
		t.Columns = append(t.Columns, view.Cell{Name: view.Line(c.Name)})
	}
	for len(t.Rows) < mostOwnRows && result.Next() {
		var cells []view.Cell
		for _, v := range result.Values() {
			text := "NULL"
			if v != nil {
				text = view.Line(fmt.Sprint(v))
			}
			cells = append(cells, view.Cell{Text: text})
		}
		t.Rows = append(t.Rows, cells)
	}
	if len(t.Rows) == mostOwnRows {
		t.About = fmt.Sprintf("the first %d rows", mostOwnRows)
	}
	return t, result.Close()
}
