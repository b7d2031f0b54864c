// Package chsql runs SQL statements that are files, with parameters of the server.
// Each package next to the ledger embeds its own folder statements/.
package chsql

import (
	"context"
	"io/fs"
	"iter"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Params are the values of a statement's parameters by name.
type Params map[string]Param

// DB is a connection pool and the statement files of one package. A DB is safe for concurrent
// use.
type DB struct {
	Conn     driver.Conn
	Changes  driver.Conn // for [DB.Change]
	Files    fs.FS       // with a folder statements
	Database string      // that the connection is in
}

// Text returns the SQL of a statement file. A missing file is a programming error.
func (db DB) Text(name string) string {
	text, err := fs.ReadFile(db.Files, "statements/"+name+".sql")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

// Query runs the statement of a file and returns its rows, which the caller closes.
func (db DB) Query(ctx context.Context, name string, params Params) (driver.Rows, error) {
	return db.Conn.Query(with(ctx, params), db.Text(name))
}

// Row is a row of an answer, or the error with which the answer ended.
type Row struct {
	rows driver.Rows
	err  error
}

// Scan reads the columns of the row. A loop over [DB.Rows] calls it for each row, since
// it returns the errors of the statement, too.
func (r Row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.rows.Scan(into...)
}

// Rows runs the statement of a file when the loop begins, and closes its answer when the
// loop ends.
func (db DB) Rows(ctx context.Context, name string, params Params) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		rows, err := db.Query(ctx, name, params)
		if err != nil {
			yield(Row{err: err})
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(Row{rows: rows}) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Row{err: err})
		}
	}
}

// First reads the first row of a statement's answer, and reports whether there is one.
func (db DB) First(ctx context.Context, name string, params Params, into ...any) (found bool, err error) {
	rows, err := db.Query(ctx, name, params)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(into...); err != nil {
		return false, err
	}
	return true, rows.Err()
}

// Row runs a statement whose answer is one row.
func (db DB) Row(ctx context.Context, name string, params Params) driver.Row {
	return db.Conn.QueryRow(with(ctx, params), db.Text(name))
}

// Exec runs a statement without an answer.
func (db DB) Exec(ctx context.Context, name string, params Params) error {
	return db.Conn.Exec(with(ctx, params), db.Text(name))
}

// Change runs a statement that rewrites rows of a table or drops tables. It waits until the rows are rewritten on
// all replicas, and until no query reads a dropped table. The server sends nothing meanwhile, which can be hours.
func (db DB) Change(ctx context.Context, name string, params Params) error {
	return db.ChangeText(ctx, db.Text(name), params)
}

// ChangeText is [DB.Change] for a statement that is no file.
func (db DB) ChangeText(ctx context.Context, sql string, params Params) error {
	return db.Changes.Exec(clickhouse.Context(with(ctx, params), clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2})), sql)
}

func with(ctx context.Context, params Params) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithParameters(params.Encoded()))
}
