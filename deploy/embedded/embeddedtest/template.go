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
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// A Template is a database that many tests of a process copy, because creating it takes long. The
// template is created once in the shared engine. Each test gets a copy with the tables, views and
// rows. A copy that the test leaves with the same definitions is emptied and given to a later
// test. Safe for concurrent use. A nil Template is an empty database.
type Template struct {
	migrate func(ctx context.Context, dsn string) error
	once    sync.Once
	name    string   // name of the database
	create  []string // its CREATE statements, tables first
	filled  []string // tables with rows
	err     error

	made  sync.Map // digest of the definitions of each copy, by its name
	mu    sync.Mutex
	spare []string // copies that no test uses
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

// database returns a database that is a copy of the template, or empty without a template. A new
// copy runs the CREATE statements of the template. BACKUP and RESTORE under another name would
// change the views.
func (t *Template) database(ctx context.Context, conn driver.Conn, dsn string) (string, error) {
	if t != nil {
		if t.once.Do(func() { t.err = t.make(ctx, conn, dsn) }); t.err != nil {
			return "", fmt.Errorf("make the template: %w", t.err)
		}
		if database := t.takeSpare(); database != "" {
			return database, nil
		}
	}
	database := fmt.Sprintf("ctxledger_test_%d", sharedTests.Add(1))
	if err := conn.Exec(ctx, "CREATE DATABASE "+database); err != nil || t == nil {
		return database, err
	}
	for _, statement := range t.create {
		if err := conn.Exec(ctx, strings.ReplaceAll(statement, t.name+".", database+".")); err != nil {
			return database, err
		}
	}
	digest, _, err := look(ctx, conn, database)
	if err != nil {
		return database, err
	}
	t.made.Store(database, digest)
	return database, t.fill(ctx, conn, database)
}

// look returns a digest of the definitions of a database, and its tables with rows.
func look(ctx context.Context, conn driver.Conn, database string) (digest string, filled []string, err error) {
	err = conn.QueryRow(ctx, definitions, clickhouse.Named("database", database)).Scan(&digest, &filled)
	return digest, filled, err
}

func (t *Template) takeSpare() (database string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.spare); n > 0 {
		database, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return database
}

// release empties the database and keeps it for a later test. It drops a database that may differ
// from a new copy. This is a database without a template, or a failed test's, or one that empty
// cannot make new again.
func (t *Template) release(ctx context.Context, conn driver.Conn, database string, failed bool) error {
	if t != nil && !failed {
		kept, err := t.empty(ctx, conn, database)
		if err != nil {
			return err
		}
		if kept {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.spare = append(t.spare, database)
			return nil
		}
	}
	return conn.Exec(ctx, "DROP DATABASE IF EXISTS "+database+" SYNC")
}

// empty makes the database a new copy of the template. It reports false if the test has changed
// definitions, if a rebuild's database is left, or if a statement still runs.
func (t *Template) empty(ctx context.Context, conn driver.Conn, database string) (bool, error) {
	digest, tables, err := look(ctx, conn, database)
	if err != nil {
		return false, err
	}
	if made, ok := t.made.Load(database); !ok || made != digest {
		return false, nil
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var left, running uint64
		if err := conn.QueryRow(ctx, "SELECT (SELECT count() FROM system.databases WHERE startsWith(name, ? || '_')), (SELECT count() FROM system.processes WHERE current_database = ?)", database, database).Scan(&left, &running); err != nil {
			return false, err
		}
		if left+running == 0 {
			break
		}
		if left > 0 || time.Since(began) > endPatience {
			return false, nil
		}
	}
	for _, table := range tables {
		for _, statement := range []string{"TRUNCATE TABLE " + database + "." + table + " SYNC", "SYSTEM START MERGES " + database + "." + table} {
			if err := conn.Exec(ctx, statement); err != nil {
				return false, err
			}
		}
	}
	return true, t.fill(ctx, conn, database)
}

// endPatience is the wait for statements of a test that has ended. A busy server lists a statement for a
// moment after its client has the answer.
const endPatience = 10 * time.Second

// fill copies the rows of the template.
func (t *Template) fill(ctx context.Context, conn driver.Conn, database string) error {
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
	if err := conn.QueryRow(ctx, "SELECT groupArray(create_table_query) FROM (SELECT * FROM system.tables WHERE database = ? ORDER BY engine = 'View', name)", t.name).Scan(&t.create); err != nil {
		return err
	}
	_, filled, err := look(ctx, conn, t.name)
	t.filled = filled
	return err
}

// definitions selects a digest of the definitions of a database, and its tables with rows. The server takes
// long to write the statements of views, also in a branch of if. The digest therefore has the id of a view and
// the second of its last change. It does not notice a view that is altered within the second of its creation; a
// view that is replaced has another id.
const definitions = `SELECT
	toString(cityHash64(
		arraySort(groupArray((name, comment, if(engine = 'View', (toString(uuid), toString(metadata_modification_time)), ('', ''))))),
		(SELECT arraySort(groupArray(create_table_query)) FROM system.tables WHERE database = {database:String} AND engine != 'View'))),
	groupArrayIf(name, total_rows > 0)
FROM system.tables
WHERE database = {database:String}`
