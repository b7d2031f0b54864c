package embeddedtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"
)

func open(tb testing.TB, dsn string) driver.Conn {
	tb.Helper()
	conn, err := connection(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func connection(_ context.Context, dsn string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return clickhouse.Open(options)
}

// TestInstallationsAreApart: each has the template's rows, views that read its own
// tables, a reader, and no stream.
func TestInstallationsAreApart(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	template := TemplateOf(connection, func(ctx context.Context, conn driver.Conn) error {
		made.Add(1)
		for _, sql := range []string{
			"CREATE TABLE facts (a UInt32) ENGINE = MergeTree ORDER BY a",
			"CREATE VIEW total AS SELECT sum(a) AS n FROM facts",
			"INSERT INTO facts VALUES (1)",
		} {
			if err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range uint64(3) {
		s := template.Installation(t)
		if err := open(t, s.ClickHouseDSN()).Exec(t.Context(), "INSERT INTO facts VALUES (?)", i); err != nil {
			t.Fatal(err)
		}
		var n uint64
		if err := open(t, s.ReaderDSN()).QueryRow(t.Context(), "SELECT n FROM total").Scan(&n); err != nil || n != 1+i {
			t.Errorf("installation %d has %d, %v", i, n, err)
		}
		if _, err := s.JetStream(t).CreateStream(t.Context(), jetstream.StreamConfig{Name: "S"}); err != nil {
			t.Error(err)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("the template was made %d times", n)
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var database string
	t.Run("its test", func(t *testing.T) {
		conn := open(t, ClickHouse(t).ClickHouseDSN())
		if err := conn.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&database); err != nil {
			t.Fatal(err)
		}
	})
	var left uint64
	err := open(t, ClickHouse(t).ClickHouseDSN()).QueryRow(t.Context(), "SELECT count() FROM system.databases WHERE name = ?", database).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d of %q are left: %v", left, database, err)
	}
}

// TestCopiesAreUsedAgain: a test gets the database of an earlier test, with the rows of the
// template only, and a token of the earlier test does not hide an insert. A database with another
// definition is not used again.
func TestCopiesAreUsedAgain(t *testing.T) {
	t.Parallel()
	needsServers(t)
	template := TemplateOf(connection, func(ctx context.Context, conn driver.Conn) error {
		return errors.Join(
			conn.Exec(ctx, "CREATE TABLE facts (a UInt32) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100"),
			conn.Exec(ctx, "CREATE TABLE rest (a UInt32) ENGINE = MergeTree ORDER BY a"),
			conn.Exec(ctx, "INSERT INTO rest VALUES (1)"))
	})
	use := func(name string, statements ...string) (database string) {
		t.Run(name, func(t *testing.T) {
			conn := open(t, template.ClickHouse(t).ClickHouseDSN())
			var facts, rest uint64
			err := conn.QueryRow(t.Context(), "SELECT currentDatabase(), (SELECT count() FROM facts), (SELECT sum(a) FROM rest)").Scan(&database, &facts, &rest)
			if err != nil || facts != 0 || rest != 1 {
				t.Errorf("%d facts, rest %d, %v", facts, rest, err)
			}
			with := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": "one"}))
			if err := conn.Exec(with, "INSERT INTO facts VALUES (7)"); err != nil {
				t.Fatal(err)
			}
			if err := conn.QueryRow(t.Context(), "SELECT count() FROM facts").Scan(&facts); err != nil || facts != 1 {
				t.Errorf("%d facts after an insert, %v", facts, err)
			}
			for _, statement := range statements {
				if err := conn.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		})
		return database
	}
	first := use("first", "INSERT INTO rest VALUES (8)")
	if second := use("second", "ALTER TABLE rest ADD COLUMN b UInt32"); second != first {
		t.Errorf("the second test has %s, the first had %s", second, first)
	}
	third := use("third", "SYSTEM STOP MERGES facts")
	if third == first {
		t.Error("a changed database is used again")
	}
	if fourth := use("fourth"); fourth != third {
		t.Errorf("the fourth test has %s, the third had %s", fourth, third)
	}
}

// TestChangedCopiesAreNotUsedAgain: a test that changes a table, a view or a comment leaves no copy for later
// tests.
func TestChangedCopiesAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	needsServers(t)
	template := TemplateOf(connection, func(ctx context.Context, conn driver.Conn) error {
		for _, sql := range []string{
			"CREATE TABLE facts (a UInt32) ENGINE = MergeTree ORDER BY a",
			"CREATE VIEW total AS SELECT sum(a) AS n FROM facts",
		} {
			if err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	databaseOf := func(change string) (database string) {
		t.Run(change, func(t *testing.T) {
			conn := open(t, template.ClickHouse(t).ClickHouseDSN())
			if err := conn.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&database); err != nil {
				t.Fatal(err)
			}
			if err := conn.Exec(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		})
		return database
	}
	used := databaseOf("INSERT INTO facts VALUES (1)")
	for _, change := range []string{
		"ALTER TABLE facts ADD COLUMN b UInt8",
		"ALTER TABLE facts COMMENT COLUMN a 'changed'",
		"ALTER TABLE facts MODIFY COMMENT 'changed'",
		"CREATE OR REPLACE VIEW total AS SELECT sum(a) AS n FROM facts",
	} {
		changed := databaseOf(change)
		if changed != used {
			t.Errorf("%s: the copy before was not used again", change)
		}
		if used = databaseOf("SELECT 1"); used == changed {
			t.Errorf("%s: the changed copy was used again", change)
		}
	}
}
