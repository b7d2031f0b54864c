package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A Template is the database that many tests of a process begin with, where it takes
// long to make one: it is made once in the shared engine, and each test gets a copy of
// its own, with the tables, views and rows. Tests that run at once may use it.
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

// StartShared is the function of this name, with a copy of the template for an empty
// database.
func (t *Template) StartShared(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, StartTest(tb, func(c *Config) { c.NoClickHouse = true }), t)
}

// SharedClickHouse is the function of this name, with a copy of the template for an
// empty database.
func (t *Template) SharedClickHouse(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, &Servers{}, t)
}

var madeTemplates atomic.Int64

// copyTo makes a database of an engine that is a copy of the template, or empty
// without one. It has the very statements of the template's: what BACKUP and RESTORE
// under another name make of a view is another view, and may not run.
func (t *Template) copyTo(ctx context.Context, s *Servers, database string) error {
	if t != nil {
		if t.once.Do(func() { t.err = t.make(s) }); t.err != nil {
			return fmt.Errorf("make the template: %w", t.err)
		}
	}
	if err := s.createDatabase(ctx, database); err != nil || t == nil {
		return err
	}
	conn, err := clickhouse.Open(s.probe().options)
	if err != nil {
		return err
	}
	defer conn.Close()
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

func (t *Template) make(s *Servers) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	t.name = fmt.Sprintf("ctxledger_template_%d", madeTemplates.Add(1))
	if err := s.createDatabase(ctx, t.name); err != nil {
		return err
	}
	if err := t.migrate(ctx, s.dsnOf(s.addresses.ClickHouseDSN, t.name)); err != nil {
		return err
	}
	conn, err := clickhouse.Open(s.probe().options)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.QueryRow(ctx, "SELECT groupArray(create_table_query), groupArrayIf(name, total_rows > 0) FROM (SELECT * FROM system.tables WHERE database = ? ORDER BY engine = 'View', name)", t.name).Scan(&t.create, &t.filled)
}
