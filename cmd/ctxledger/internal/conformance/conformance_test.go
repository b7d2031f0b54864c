package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector"
)

func TestMain(m *testing.M) {
	embedded.Main()
	m.Run()
}

// An installation is a NATS server and a database of the test's own, and a
// projector between them.
type installation struct {
	Target // reads as the user who can only read
	writer *ledger.Ledger
}

// install starts an installation; without project it has no projector.
func install(t *testing.T, project bool) *installation {
	t.Helper()
	s := embedded.StartShared(t)
	nc, err := nats.Connect(s.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projector.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	i := &installation{writer: open(t, s.ClickHouseDSN())}
	if _, err := i.writer.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.Target = Target{JetStream: js, Ledger: open(t, s.Addresses().ReaderDSN)}
	if !project {
		return i
	}
	c := projector.DefaultConfig(js, i.writer)
	c.Linger = 20 * time.Millisecond
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("projector: %v", err)
		}
	})
	return i
}

func open(t *testing.T, dsn string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestConformance runs the suite, every case by its name.
func TestConformance(t *testing.T) {
	t.Parallel()
	i := install(t, true)
	start := time.Now()
	report, err := Run(t.Context(), i.Target, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d checks in %s", len(report.Cases), time.Since(start))
	for _, c := range report.Cases {
		t.Run(c.Case, func(t *testing.T) {
			for _, f := range c.Findings {
				if !f.Pass {
					t.Errorf("%s: %s\nexpected %s\nfound    %s", f.Check, f.Expects, f.Expected, f.Found)
				}
			}
			if len(c.Findings) < 3 {
				t.Errorf("only %d checks", len(c.Findings))
			}
		})
	}
	if len(report.Cases) != 15 || !report.Pass {
		t.Errorf("%d cases, pass %v", len(report.Cases), report.Pass)
	}
}

var _ = errors.Is
var _ = strings.Join
