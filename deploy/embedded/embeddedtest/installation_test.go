package embeddedtest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func TestMain(m *testing.M) {
	embedded.Main()
	m.Run()
}

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
