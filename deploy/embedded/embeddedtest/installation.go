package embeddedtest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Start starts separate servers for the test in a temporary folder and closes them when the test
// ends. The options change the Config. A test that only needs a separate database uses
// Installation, which is faster.
//
// In short mode, Start skips a test that has not called Smoke.
func Start(tb testing.TB, options ...func(*embedded.Config)) *Servers {
	tb.Helper()
	needsServers(tb)
	c := embedded.DefaultConfig(tb.TempDir())
	c.StopTimeout = time.Minute // a machine under load ends an engine slowly
	for _, option := range options {
		option(&c)
	}
	s, err := embedded.Start(context.Background(), c)
	if err != nil {
		GiveUp(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the embedded servers: %v", err)
		}
	})
	return Own(s)
}

// smoke holds the names of the tests that called Smoke.
var smoke sync.Map

// Smoke allows a test to start servers in short mode. Smoke is for the one test of a package that
// covers most in a few seconds.
func Smoke(tb testing.TB) { smoke.Store(tb.Name(), true) }

func needsServers(tb testing.TB) {
	tb.Helper()
	if _, ok := smoke.Load(tb.Name()); testing.Short() && !ok {
		tb.Skip("needs servers: run without -short")
	}
}

// NATS starts a separate NATS server for the test.
func NATS(tb testing.TB) *Servers {
	tb.Helper()
	return Start(tb, func(c *embedded.Config) { c.NoClickHouse = true })
}

// GiveUp skips the test if err means that no engine is available. For other errors, and in CI, it
// fails the test.
func GiveUp(tb testing.TB, err error) {
	tb.Helper()
	if embedded.Unavailable(err) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Servers are the servers of a test. Their addresses name the test's database.
type Servers struct {
	*embedded.Servers
	addresses embedded.Addresses
	backups   string
}

// Installation gives the test a separate NATS server and an empty database in the ClickHouse of
// the process. Both are removed when the test ends. The shared engine ends with the process and
// then removes its folder, also if the process is killed. A test that kills ClickHouse must use
// Start, because the engine is shared.
func Installation(tb testing.TB) *Servers { return (*Template)(nil).Installation(tb) }

// ClickHouse is Installation without NATS.
func ClickHouse(tb testing.TB) *Servers { return (*Template)(nil).ClickHouse(tb) }

// Own returns servers that the test started itself.
func Own(s *embedded.Servers) *Servers { return &Servers{s, s.Addresses(), s.BackupsDir()} }

// NewDatabase creates a database and returns the same servers with the addresses of that database.
func (s *Servers) NewDatabase(tb testing.TB, name string) *Servers {
	tb.Helper()
	must(tb, Connect(tb, s.ClickHouseDSN()).Exec(tb.Context(), "CREATE DATABASE "+name))
	addresses := s.addresses
	addresses.ClickHouseDSN, addresses.ReaderDSN = inDatabase(addresses.ClickHouseDSN, name), inDatabase(addresses.ReaderDSN, name)
	return &Servers{s.Servers, addresses, s.backups}
}

func (s *Servers) Addresses() embedded.Addresses { return s.addresses }
func (s *Servers) BackupsDir() string            { return s.backups }
func (s *Servers) ClickHouseDSN() string         { return s.addresses.ClickHouseDSN }
func (s *Servers) ReaderDSN() string             { return s.addresses.ReaderDSN }
func (s *Servers) HTTPURL() string               { return s.addresses.HTTPURL }

var (
	sharedEngine = sync.OnceValues(startSharedEngine)
	sharedTests  atomic.Int64
)

func startSharedEngine() (*embedded.Servers, error) {
	dir, err := os.MkdirTemp("", "ctxledger-test-")
	if err != nil {
		return nil, err
	}
	c := embedded.DefaultConfig(dir)
	c.NoNATS, c.RemoveDir = true, true
	s, err := embedded.Start(context.Background(), c)
	if err != nil {
		os.RemoveAll(dir)
	}
	return s, err
}

// share returns s with a separate database in the shared engine. The database is a copy of the
// template, or empty without a template.
func share(tb testing.TB, s *embedded.Servers, template *Template) *Servers {
	tb.Helper()
	needsServers(tb)
	shared, err := sharedEngine()
	if err != nil {
		GiveUp(tb, err)
	}
	var database string
	err = within(5*time.Minute, shared, func(ctx context.Context, conn driver.Conn) (err error) {
		database, err = template.database(ctx, conn, shared.ClickHouseDSN())
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		err := within(2*time.Minute, shared, func(ctx context.Context, conn driver.Conn) error {
			return template.release(ctx, conn, database, tb.Failed())
		})
		if err != nil {
			tb.Errorf("empty or drop the test's database: %v", err)
		}
	})
	addresses := s.Addresses()
	addresses.ClickHouseDSN = inDatabase(shared.ClickHouseDSN(), database)
	addresses.ReaderDSN = inDatabase(shared.ReaderDSN(), database)
	addresses.HTTPURL = shared.HTTPURL()
	return &Servers{s, addresses, shared.BackupsDir()}
}

// within calls f with a new connection to the shared engine. The limit allows for a busy machine.
func within(limit time.Duration, s *embedded.Servers, f func(context.Context, driver.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	options, err := clickhouse.ParseDSN(s.ClickHouseDSN())
	if err != nil {
		return err
	}
	options.DialTimeout, options.ReadTimeout = time.Minute, time.Minute
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, conn), conn.Close())
}

// Connect connects to a ClickHouse server until the test ends.
func Connect(tb testing.TB, dsn string) driver.Conn {
	tb.Helper()
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

// inDatabase replaces the database in an address of the engine.
func inDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		panic(err) // package embedded made the address
	}
	u.Path = "/" + database
	return u.String()
}
