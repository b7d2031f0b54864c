package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func connect(t *testing.T, dsn string) driver.Conn {
	t.Helper()
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func mustExec(t *testing.T, conn driver.Conn, sql string) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// value returns a query's only value as a string.
func value(t *testing.T, conn driver.Conn, sql string) string {
	t.Helper()
	var v string
	if err := conn.QueryRow(t.Context(), "SELECT toString(("+sql+"))").Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func eventually(t *testing.T, what string, limit time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestServersAreRealAndKeepTheirData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(check func(conn driver.Conn, js jetstream.JetStream)) {
		begun := time.Now()
		s, err := Start(t.Context(), DefaultConfig(dir))
		if err != nil {
			giveUp(t, err)
		}
		t.Logf("ready after %s", time.Since(begun))
		nc, err := nats.Connect(s.NATSURL())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		conn := connect(t, s.ClickHouseDSN())
		check(conn, js)
		conn.Close() // the engine waits 5 s for a connection that stays open
		begun = time.Now()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("closed after %s", time.Since(begun))
		if err := syscall.Kill(s.EnginePID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("the engine outlived Close: %v", err)
		}
	}
	run(func(conn driver.Conn, js jetstream.JetStream) {
		mustExec(t, conn, "CREATE TABLE kept (a UInt32) ENGINE = MergeTree ORDER BY a")
		mustExec(t, conn, "INSERT INTO kept VALUES (1), (2)")
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.>"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "kept.a", []byte("x")); err != nil {
			t.Fatal(err)
		}
	})
	run(func(conn driver.Conn, js jetstream.JetStream) {
		if got := value(t, conn, "SELECT sum(a) FROM kept"); got != "3" {
			t.Errorf("sum after a restart is %s, not 3", got)
		}
		stream, err := js.Stream(t.Context(), "KEPT")
		if err != nil {
			t.Fatal(err)
		}
		if n := stream.CachedInfo().State.Msgs; n != 1 {
			t.Errorf("%d messages after a restart, not 1", n)
		}
		for sql, want := range map[string]string{
			"SELECT currentDatabase()":          "ctxledger",
			"SELECT timezone()":                 "UTC",
			"SELECT getSetting('async_insert')": "false",
			"SELECT count() FROM system.tables WHERE database='system' AND name LIKE '%\\_log'": "0",
		} {
			if got := value(t, conn, sql); got != want {
				t.Errorf("%s is %s, not %s", sql, got, want)
			}
		}
	})
}

func TestReaderReadsTheLedgerAndNothingElse(t *testing.T) {
	t.Parallel()
	s := startClickHouse(t)
	writer, reader := connect(t, s.ClickHouseDSN()), connect(t, s.ReaderDSN())
	mustExec(t, writer, "CREATE TABLE facts (a UInt32) ENGINE = MergeTree ORDER BY a")
	mustExec(t, writer, "INSERT INTO facts SELECT number FROM numbers(10)")
	if got := value(t, reader, "SELECT count() FROM facts"); got != "10" {
		t.Errorf("the reader counts %s rows, not 10", got)
	}
	for name, sql := range map[string]string{
		"insert":          "INSERT INTO facts VALUES (1)",
		"drop":            "DROP TABLE facts",
		"file":            "SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"url":             "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"other queries":   "SELECT query FROM system.processes",
		"users":           "SELECT name FROM system.users",
		"no time limit":   "SELECT 1 SETTINGS max_execution_time = 0",
		"no memory limit": "SELECT 1 SETTINGS max_memory_usage = 0",
		"no row limit":    "SELECT 1 SETTINGS max_result_rows = 0",
		"write after all": "SELECT 1 SETTINGS readonly = 0",
		"too many rows":   "SELECT number FROM numbers(2000000)",
		"stop listening":  "SYSTEM STOP LISTEN TCP",
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := reader.Query(t.Context(), sql)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				rows.Close()
			}
			var refusal *clickhouse.Exception
			if !errors.As(err, &refusal) {
				t.Fatalf("%s: not refused by the server: %v", sql, err)
			}
		})
	}
}

func TestNobodyElseSignsIn(t *testing.T) {
	t.Parallel()
	s := startClickHouse(t)
	host := strings.Split(strings.Split(s.ClickHouseDSN(), "@")[1], "/")[0]
	for _, who := range []string{"default:", "ctxledger:", "reader:", "ctxledger:wrong", "nobody:x"} {
		options, err := clickhouse.ParseDSN("clickhouse://" + who + "@" + host + "/default")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := clickhouse.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Errorf("%s may sign in to ClickHouse", who)
		}
	}
	if nc, err := nats.Connect(strings.Replace(startTest(t, func(c *Config) { c.NoClickHouse = true }).NATSURL(), "ctxledger:", "ctxledger:x", 1)); err == nil {
		nc.Close()
		t.Error("NATS takes a wrong password")
	}
}

func TestSecretsAreForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	s := startTest(t)
	for _, name := range []string{credentialsFile, addressesFile, "clickhouse/users.xml", "clickhouse/config.xml", "clickhouse/output.txt"} {
		info, err := os.Stat(filepath.Join(s.config.Dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", name, info.Mode().Perm())
		}
	}
	if found, err := Find(s.config.Dir); err != nil || found != s.Addresses() {
		t.Errorf("Find gives %v and %v", found, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(s.config.Dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Find after Close: %v", err)
	}
	if _, err := Find(t.TempDir()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Find in an empty folder: %v", err)
	}
}

func TestOneServerAlone(t *testing.T) {
	t.Parallel()
	only := startTest(t, func(c *Config) { c.NoClickHouse = true })
	if only.NATSURL() == "" || only.ClickHouseDSN() != "" || only.EnginePID() != 0 {
		t.Errorf("NATS alone gives %+v", only.Addresses())
	}
	only = startClickHouse(t)
	if only.NATSURL() != "" || only.ClickHouseDSN() == "" || only.ReaderDSN() == "" {
		t.Errorf("ClickHouse alone gives %+v", only.Addresses())
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", address(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	running := startTest(t, func(c *Config) { c.NoClickHouse = true })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
		says   string
	}{
		"no folder":       {func(c *Config) { c.Dir = "" }, ErrConfig, "Config.Dir"},
		"a file":          {func(c *Config) { c.Dir = file }, ErrConfig, "use another folder"},
		"a folder in use": {func(c *Config) { c.Dir = running.config.Dir }, errFolderInUse, running.config.Dir},
		"nothing":         {func(c *Config) { c.NoNATS, c.NoClickHouse = true, true }, ErrConfig, "nothing to start"},
		"NATS port":       {func(c *Config) { c.NATSPort = port }, errPortInUse, fmt.Sprint(port)},
		"ClickHouse port": {func(c *Config) { c.ClickHousePort = port }, errPortInUse, fmt.Sprint(port)},
		"HTTP port":       {func(c *Config) { c.HTTPPort = port }, errPortInUse, fmt.Sprint(port)},
		"one port twice":  {func(c *Config) { c.HTTPPort, c.NATSPort = 4, 4 }, ErrConfig, "4"},
		"no port":         {func(c *Config) { c.HTTPPort = 70000 }, ErrConfig, "70000"},
		"a database":      {func(c *Config) { c.Database = "ctxledger; DROP" }, ErrConfig, "database"},
		"little memory":   {func(c *Config) { c.MaxMemory = 1 }, ErrConfig, "256 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig(t.TempDir())
			c.change(&config)
			s, err := Start(context.Background(), config)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, not %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}
