package embeddedtest

import (
	"context"
	"errors"
	"fmt"
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

// Start starts servers of the test's own in a temporary folder, changed by the options,
// and closes them when the test ends. An engine takes about 0.3 s to start. A test that
// only needs its own database uses Installation, which is faster.
//
// The short form of the tests skips a test that starts servers, unless it called Smoke.
func Start(tb testing.TB, options ...func(*embedded.Config)) *Servers {
	tb.Helper()
	needsServers(tb)
	c := embedded.DefaultConfig(tb.TempDir())
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

// smoke has the names of the tests that called Smoke.
var smoke sync.Map

// Smoke lets a test start servers in the short form of the tests, too, which is for the
// one test of a package that shows most in a few seconds.
func Smoke(tb testing.TB) { smoke.Store(tb.Name(), true) }

func needsServers(tb testing.TB) {
	tb.Helper()
	if _, ok := smoke.Load(tb.Name()); testing.Short() && !ok {
		tb.Skip("needs servers: run without -short")
	}
}

// NATS starts a NATS server of the test's own.
func NATS(tb testing.TB) *Servers {
	tb.Helper()
	return Start(tb, func(c *embedded.Config) { c.NoClickHouse = true })
}

// GiveUp skips the test where err says that no engine is available, and fails it
// otherwise and in CI.
func GiveUp(tb testing.TB, err error) {
	tb.Helper()
	if embedded.Unavailable(err) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Servers are those that a test has. Their addresses name the test's own database.
type Servers struct {
	*embedded.Servers
	addresses embedded.Addresses
}

// Installation gives the test a NATS server of its own, and an empty database of its own
// in the ClickHouse that the tests of the process share. Both are gone when the test
// ends. The shared engine ends with the process, however the process ends, and removes
// its folder. A test must not harm the shared engine: a test that kills ClickHouse uses
// Start.
func Installation(tb testing.TB) *Servers { return (*Template)(nil).Installation(tb) }

// ClickHouse is Installation without NATS.
func ClickHouse(tb testing.TB) *Servers { return (*Template)(nil).ClickHouse(tb) }

// Own returns servers that the test started itself.
func Own(s *embedded.Servers) *Servers { return &Servers{s, s.Addresses()} }

func (s *Servers) Addresses() embedded.Addresses { return s.addresses }
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

// share returns s with a database of the test's own in the shared engine: a copy of the
// template, or an empty one without it.
func share(tb testing.TB, s *embedded.Servers, template *Template) *Servers {
	tb.Helper()
	needsServers(tb)
	shared, err := sharedEngine()
	if err != nil {
		GiveUp(tb, err)
	}
	database := fmt.Sprintf("ctxledger_test_%d", sharedTests.Add(1))
	err = within(5*time.Minute, shared, func(ctx context.Context, conn driver.Conn) error {
		return template.copyTo(ctx, conn, shared.ClickHouseDSN(), database)
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		err := within(2*time.Minute, shared, func(ctx context.Context, conn driver.Conn) error {
			return conn.Exec(ctx, "DROP DATABASE IF EXISTS "+database+" SYNC")
		})
		if err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	addresses := s.Addresses()
	addresses.ClickHouseDSN = inDatabase(shared.ClickHouseDSN(), database)
	addresses.ReaderDSN = inDatabase(shared.ReaderDSN(), database)
	addresses.HTTPURL = shared.HTTPURL()
	return &Servers{s, addresses}
}

// within gives f a connection of its own to the shared engine, on a machine that may be
// busy.
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

// inDatabase names another database in an address of the engine.
func inDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		panic(err) // package embedded made it
	}
	u.Path = "/" + database
	return u.String()
}
