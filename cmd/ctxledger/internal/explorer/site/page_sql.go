package site

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	shardanswer "github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// mostOwnRows is how many rows of a statement of one's own the page shows.
const mostOwnRows = 1000

// errNoSQL means that statements of one's own are not answered here.
var errNoSQL = errors.New("statements of your own need `ctxledger serve` with --clickhouse, a user of ClickHouse that may only read, and no --tokens: use `ctxledger query --sql`, or a client of ClickHouse")

// statement shows the box for SQL, and the answer to a statement. A statement knows no tenant, so
// that no token allows one. The user of the ledger must be a reader: the server refuses the rest.
func (s *site) statement(r *http.Request, l *ledger.Ledger) (shown, error) {
	if !s.SQL || access.Of(r.Context()).Name != "" {
		return shown{}, errNoSQL
	}
	err := answer.Each(r.Context(), l, func(l *ledger.Ledger) error {
		setting, err := l.ReadOnly(r.Context())
		if err != nil || setting == "0" {
			err = errors.Join(err, errNoSQL)
		}
		return err
	})
	if err != nil {
		return shown{}, err
	}
	content := view.SQLPage{
		TablesPage: view.TablesPage{Heading: "SQL", Sub: "a statement of your own on the views; it can only read"},
		Statement:  r.URL.Query().Get("q"), Views: migrate.Views(),
	}
	page := view.Page{Title: "SQL", Nav: "questions"}
	if strings.TrimSpace(content.Statement) != "" {
		t, err := ownRows(r, l, content.Statement)
		if errors.Is(err, read.ErrStatement) || errors.Is(err, read.ErrReadOnly) || errors.Is(err, read.ErrLimit) || errors.Is(err, shardanswer.ErrShardColumn) {
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
	if l == nil {
		t.About = "each shard of the cluster answered by itself"
	}
	result, err := answer.Statement(r.Context(), l, sql, read.Limits{Time: patience, Rows: mostRows, Memory: 1 << 30})
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
		t.About = strings.TrimPrefix(fmt.Sprintf("%s; the first %d rows", t.About, mostOwnRows), "; ")
	}
	return t, result.Close()
}
