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

// A Template is a database that many tests of a process copy, because creating it takes long. The
// template is created once in the shared engine. Each test gets a copy with the tables, views and
// rows. Safe for concurrent use. A nil Template is an empty database.
type Template struct {
	migrate func(ctx context.Context, dsn string) error
	once    sync.Once
	name    string   // name of the database
	create  []string // its CREATE statements, tables first
	filled  []string // tables with rows
	err     error
}

// TemplateOf returns the template that migrate makes from an empty database. open connects to the
// empty database. Both are called when the first test needs a copy.
func TemplateOf[C io.Closer](open func(ctx context.Context, dsn string) (C, error), migrate func(ctx context.Context, client C) error) *Template {
	return &Template{migrate: func(ctx context.Context, dsn string) error {
		client, err := open(ctx, dsn)
		if err != nil {
			return err
		}
		return errors.Join(migrate(ctx, client), client.Close())
	}}
}

// Installation is [Installation] with a copy of the template instead of an empty database.
func (t *Template) Installation(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, NATS(tb).Servers, t)
}

// ClickHouse is [ClickHouse] with a copy of the template instead of an empty database.
func (t *Template) ClickHouse(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, &embedded.Servers{}, t)
}

var madeTemplates atomic.Int64

// copyTo creates a database that is a copy of the template, or empty without a template. copyTo
// runs the CREATE statements of the template. BACKUP and RESTORE under another name would change
// the views.
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
