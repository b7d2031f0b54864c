package embeddedtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// A Template is the database that many tests of a process begin with, where it takes
// long to make one: it is made once in the shared engine, and each test gets a copy of
// its own, with the tables, views and rows. Tests that run at once may use it. A nil
// Template is an empty database.
type Template struct {
	migrate func(ctx context.Context, dsn string) error
	once    sync.Once
	name    string   // of the database
	create  []string // its statements, tables first
	filled  []string // tables with rows
	err     error
}

// TemplateOf returns the template that migrate makes of an empty database, which open
// connects to by its address when the first test asks for a copy.
func TemplateOf[C io.Closer](open func(ctx context.Context, dsn string) (C, error), migrate func(ctx context.Context, client C) error) *Template {
	return &Template{migrate: func(ctx context.Context, dsn string) error {
		client, err := open(ctx, dsn)
		if err != nil {
			return err
		}
		return errors.Join(migrate(ctx, client), client.Close())
	}}
}

// Installation is the function of this name, with a copy of the template for an empty database.
func (t *Template) Installation(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, NATS(tb).Servers, t)
}

// ClickHouse is the function of this name, with a copy of the template for an empty
// database.
func (t *Template) ClickHouse(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, &embedded.Servers{}, t)
}

var madeTemplates atomic.Int64

// copyTo makes a database that is a copy of the template, or empty without one. It has
// the very statements of the template's: what BACKUP and RESTORE under another name make
// of a view is another view, and may not run.
func (t *Template) copyTo(ctx context.Context, conn driver.Conn, dsn, database string) error {
	if t != nil {
		if t.once.Do(func() { t.err = t.make(ctx, conn, dsn) }); t.err != nil {
			return fmt.Errorf("make the template: %w", t.err)
		}
	}
	if err := conn.Exec(ctx, "CREATE DATABASE "+database); err != nil || t == nil {
		return err
	}
	for _, statement := range t.create {
		if err := conn.Exec(ctx, strings.ReplaceAll(statement, t.name+".", database+".")); err != nil {
			return err
		}
	}
	for _, table := range t.filled {
		if err := conn.Exec(ctx, "INSERT INTO "+database+"."+table+" SELECT * FROM "+t.name+"."+table); err != nil {
			return err
		}
	}
	return nil
}

func (t *Template) make(ctx context.Context, conn driver.Conn, dsn string) error {
	t.name = fmt.Sprintf("ctxledger_template_%d", madeTemplates.Add(1))
	if err := conn.Exec(ctx, "CREATE DATABASE "+t.name); err != nil {
		return err
	}
	if err := t.migrate(ctx, inDatabase(dsn, t.name)); err != nil {
		return err
	}
	return conn.QueryRow(ctx, "SELECT groupArray(create_table_query), groupArrayIf(name, total_rows > 0) FROM (SELECT * FROM system.tables WHERE database = ? ORDER BY engine = 'View', name)", t.name).Scan(&t.create, &t.filled)
}
