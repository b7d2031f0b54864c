package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// StartTest starts servers of the test's own in a temporary folder, changed by
// the options, and closes them when the test ends. An engine takes about 0.3 s
// to start; where a database of its own is enough, StartShared is faster.
//
// It skips the test where the engine cannot be had (no npm, no network, no pin,
// no space), and fails it there when CI is "true". The package's TestMain must
// call Main first.
func StartTest(tb testing.TB, options ...func(*Config)) *Servers {
	tb.Helper()
	c := DefaultConfig(tb.TempDir())
	for _, option := range options {
		option(&c)
	}
	s, err := Start(context.Background(), c)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the embedded servers: %v", err)
		}
	})
	return s
}

// StartShared gives the test an empty database of its own in one ClickHouse that
// the tests of the process share, and a NATS server of its own. Both are gone
// when the test ends; the shared engine ends with the process, however that
// ends, and removes its folder. Skips and fails like StartTest.
//
// The test must not Close what it gets, and must not harm the shared engine: a
// test that kills it uses StartTest.
func StartShared(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, StartTest(tb, func(c *Config) { c.NoClickHouse = true }))
}

// SharedClickHouse is StartShared without NATS.
func SharedClickHouse(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, &Servers{})
}

var (
	sharedEngine = sync.OnceValues(startSharedEngine)
	sharedTests  atomic.Int64
)

func startSharedEngine() (*Servers, error) {
	dir, err := os.MkdirTemp("", "ctxledger-test-")
	if err != nil {
		return nil, err
	}
	c := DefaultConfig(dir)
	c.NoNATS, c.removeDir = true, true
	s, err := Start(context.Background(), c)
	if err != nil {
		os.RemoveAll(dir)
	}
	return s, err
}

// share lets s have the shared engine, with a database for this test.
func share(tb testing.TB, s *Servers) *Servers {
	tb.Helper()
	shared, err := sharedEngine()
	if err != nil {
		giveUp(tb, err)
	}
	database := fmt.Sprintf("ctxledger_test_%d", sharedTests.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := shared.createDatabase(ctx, database); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		p := newProbe(shared.engine.tcp, shared.engine.http, shared.creds).patient()
		if err := p.exec(ctx, "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	replace := func(dsn string) string { return strings.TrimSuffix(dsn, shared.config.Database) + database }
	s.addresses.ClickHouseDSN = replace(shared.addresses.ClickHouseDSN)
	s.addresses.ReaderDSN = replace(shared.addresses.ReaderDSN)
	s.addresses.HTTPURL = shared.addresses.HTTPURL
	return s
}

// giveUp skips or fails the test, as StartTest says.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	for _, absent := range []error{ErrNoPin, ErrNoNPM, ErrNoNetwork, ErrNPM, ErrDiskFull} {
		if errors.Is(err, absent) && os.Getenv("CI") != "true" {
			tb.Skip(err)
		}
	}
	tb.Fatal(err)
}
