package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

// The tests run this binary again as a projector of its own, to kill it.
const (
	childNATS   = "CTXLEDGER_TEST_NATS"
	childLedger = "CTXLEDGER_TEST_LEDGER"
	childPoint  = "CTXLEDGER_TEST_KILL_AT" // where it kills itself; empty for nowhere
	childVisit  = "CTXLEDGER_TEST_VISIT"   // on which visit of the point
	childFollow = "CTXLEDGER_TEST_FOLLOW"  // set: do not stop when caught up
)

const exitLeaseLost = 7

func TestMain(m *testing.M) {
	embedded.Main()
	if os.Getenv(childNATS) != "" {
		os.Exit(runChild())
	}
	m.Run()
}

func runChild() int {
	p, err := childProjector()
	if err == nil {
		err = p.Run(context.Background())
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		return exitLeaseLost
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childProjector() (*Projector, error) {
	nc, err := nats.Connect(os.Getenv(childNATS))
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
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	p.timing = testTiming
	visits, _ := strconv.Atoi(os.Getenv(childVisit))
	p.at = func(point string) {
		if point != os.Getenv(childPoint) {
			return
		}
		if visits--; visits <= 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return p, nil
}

// testTiming is fast enough to wait for and slow enough for a busy machine.
var testTiming = timing{heartbeat: 100 * time.Millisecond, expiry: 2 * time.Second, poll: 20 * time.Millisecond}

func testConfig(js jetstream.JetStream, l *ledger.Ledger) Config {
	c := DefaultConfig(js, l)
	c.BatchMessages, c.Linger, c.Owner = 20, 10*time.Millisecond, "test"
	return c
}
