package projector

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/schema"
)

// The tests run this binary again as a separate projector, to kill it.
const (
	childNATS   = "CTXLEDGER_TEST_NATS"
	childLedger = "CTXLEDGER_TEST_LEDGER"
	childPoint  = "CTXLEDGER_TEST_KILL_AT" // the point at which it kills itself; empty for none
	childVisit  = "CTXLEDGER_TEST_VISIT"   // the visit of the point at which it kills itself
	childFollow = "CTXLEDGER_TEST_FOLLOW"  // set: do not stop when caught up
	childFleet  = "CTXLEDGER_TEST_FLEET"   // the number of partitions: run a fleet
	childOwner  = "CTXLEDGER_TEST_OWNER"   // the owner of its lease; empty for the owner of all tests
	childKeys   = "CTXLEDGER_TEST_KEYS"    // the key ring as text; empty for none
	childServe  = "CTXLEDGER_TEST_SERVE"   // a folder: run NATS on it and do not project
	childPort   = "CTXLEDGER_TEST_PORT"    // the port of that NATS; 0 means any

	childRebuild = "CTXLEDGER_TEST_REBUILD" // set: rebuild
	childRestore = "CTXLEDGER_TEST_RESTORE" // the folder of a backup, and ClickHouse's: restore
)

const exitLeaseLost = 7

// atEnd runs after all tests.
var atEnd []func()

func TestMain(m *testing.M) {
	embeddedtest.Main()
	if dir := os.Getenv(childServe); dir != "" {
		os.Exit(serveNATS(dir))
	}
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	// Most tests wait for leases and servers, so more tests run in parallel than there are
	// cores. The flag of the command line has precedence.
	_ = flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0))))
	m.Run()
	for _, end := range atEnd {
		end()
	}
}

func runChild() int {
	if os.Getenv(childFleet) != "" {
		return runChildFleet()
	}
	p, err := childProjector()
	switch {
	case err != nil:
	case os.Getenv(childRebuild) != "":
		c := p.config
		_, err = rebuild.Rebuild{JetStream: c.JetStream, Ledger: c.Ledger, Keys: c.Keys, Ring: c.Ring, Log: c.Log, Timing: quickTiming, BatchMessages: 7, Projector: ForRebuild, Steps: p.config.Steps}.Run(context.Background())
	case os.Getenv(childRestore) != "":
		c := p.config
		dir, staging, _ := strings.Cut(os.Getenv(childRestore), " ")
		_, err = backup.Restore{JetStream: c.JetStream, Tables: shardmap.Plain(c.Ledger), Dir: dir, Staging: []string{staging}, Keys: c.Keys, Ring: c.Ring, Log: c.Log, Timing: quickTiming, Projector: ForRebuild, Steps: c.Steps}.Run(context.Background())
	default:
		err = p.Run(context.Background())
	}
	switch {
	case errors.Is(err, lease.ErrLost):
		return exitLeaseLost
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runChildFleet runs a fleet until it is killed.
func runChildFleet() int {
	one, err := childProjector()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := schema.ParsePartitions(os.Getenv(childFleet))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c := one.config
	c.Stream, c.Owner, c.UntilCaughtUp = "", fmt.Sprint("fleet-", os.Getpid()), false
	c.BatchMessages = 500
	f, err := NewFleet(c, sharedNames(n))
	if err == nil {
		f.config.Timing = quickTiming
		err = f.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func childProjector() (*Projector, error) {
	nc, err := nats.Connect(os.Getenv(childNATS), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(context.Background(), os.Getenv(childLedger))
	if err != nil {
		return nil, err
	}
	c := testConfig(js, l)
	c.UntilCaughtUp = os.Getenv(childFollow) == ""
	c.Owner = cmp.Or(os.Getenv(childOwner), c.Owner)
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	p.config.Timing = quickTiming
	if ring, err := schema.ParseKeyRing([]byte(os.Getenv(childKeys))); err == nil {
		p.config.Keys = func() ([]schema.KeyRing, error) { return []schema.KeyRing{ring}, nil }
	}
	visits, _ := strconv.Atoi(os.Getenv(childVisit))
	p.config.Steps = atEach(func(point string) {
		if point != os.Getenv(childPoint) {
			return
		}
		if visits--; visits <= 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	return p, nil
}

// quickTiming is short enough for tests and long enough for a busy machine.
var quickTiming = lease.Timing{Heartbeat: 100 * time.Millisecond, Expiry: 2 * time.Second, Poll: 20 * time.Millisecond}

func testConfig(js jetstream.JetStream, l *ledger.Ledger) Config {
	c := DefaultConfig(js, l)
	c.BatchMessages, c.Linger, c.Owner = 20, 10*time.Millisecond, "test"
	c.Ring = testLogRing
	return c
}
