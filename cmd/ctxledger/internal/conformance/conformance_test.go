package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

// An installation is a NATS server, a database and a projector for one test.
type installation struct {
	Target // reads as the user who can only read
	writer *ledger.Ledger
	dsn    string // address of the writer
}

// install starts an installation, without a projector if project is false.
func install(t *testing.T, project bool) *installation {
	t.Helper()
	s := embeddedtest.Installation(t)
	js := s.JetStream(t)
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	i := &installation{writer: open(t, s.ClickHouseDSN()), dsn: s.ClickHouseDSN()}
	if _, err := shadow.Of(i.writer).Migrate(t.Context()); err != nil {
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

// TestConformance runs every case of the suite by its name.
func TestConformance(t *testing.T) {
	t.Parallel()
	i := install(t, true)
	report, err := Run(t.Context(), i.Target, nil)
	if err != nil {
		t.Fatal(err)
	}
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

// TestRunAgain runs cases twice on one installation: the runs do not affect each other.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	i := install(t, true)
	var err error
	if i.Cases, err = Select("ACTX-AR-ID-002", "ACTX-AR-MISSING-001"); err != nil {
		t.Fatal(err)
	}
	i.Tenant = "acme"
	sessions := make(map[string]bool)
	for range 2 {
		done := 0
		report, err := Run(t.Context(), i.Target, func(d, total int) { done += total - d + 1 })
		if err != nil {
			t.Fatal(err)
		}
		if !report.Pass || report.Tenant != "acme" || done == 0 {
			t.Errorf("pass %v, tenant %s, progress %d", report.Pass, report.Tenant, done)
		}
		for _, c := range report.Cases {
			sessions[c.Session] = true
		}
	}
	if len(sessions) != 4 {
		t.Errorf("%d sessions, want one a case and run", len(sessions))
	}
}

func TestRunSaysThatNothingProjects(t *testing.T) {
	t.Parallel()
	i := install(t, false)
	i.Patience = 100 * time.Millisecond
	if _, err := Run(t.Context(), i.Target, nil); !errors.Is(err, errNotProjected) {
		t.Errorf("error %v, want errNotProjected", err)
	}
}

// TestCheckSession checks sessions like sessions of another runtime.
func TestCheckSession(t *testing.T) {
	t.Parallel()
	i := install(t, true)
	var err error
	if i.Cases, err = Select("ACTX-AR-COMPACT-001", "ACTX-AR-GOV-001"); err != nil {
		t.Fatal(err)
	}
	recorded, err := Run(t.Context(), i.Target, nil)
	if err != nil {
		t.Fatal(err)
	}
	i.JetStream, i.Cases = nil, nil
	clean, err := CheckSession(t.Context(), i.Target, recorded.Cases[0].Session, nil)
	if err != nil {
		t.Fatal(err)
	}
	if passed, failed, absent := clean.Counts(); !clean.Pass || passed != 4 || failed != 0 || absent != 11 || clean.Tenant != defaultTenant {
		t.Errorf("%d passed, %d failed, %d absent, tenant %q", passed, failed, absent, clean.Tenant)
	}
	if i.Cases, err = Select("ACTX-AR-GOV-001"); err != nil {
		t.Fatal(err)
	}
	refused, err := CheckSession(t.Context(), i.Target, recorded.Cases[1].Session, nil)
	if err != nil {
		t.Fatal(err)
	}
	if refused.Pass || !strings.Contains(refused.Cases[0].Findings[1].Found, "runtime_status /data/turn_status") {
		t.Errorf("refused events are not told: %+v", refused.Cases)
	}
	for tenant, session := range map[string]string{"": "nobody", "acme": recorded.Cases[0].Session} {
		if _, err := CheckSession(t.Context(), Target{Ledger: i.Ledger, Tenant: tenant}, session, nil); !errors.Is(err, ErrNoSession) {
			t.Errorf("session %q of tenant %q: %v, want ErrNoSession", session, tenant, err)
		}
	}
}

// TestCasesAreTheVectors: the suite has each case of Agent Context in shared/vectors/actx.json.
// The tests of the packs' documents have the cases of Agent Evidence.
func TestCasesAreTheVectors(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "actx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows []struct{ ID string } }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range Cases() {
		names = append(names, c.Name)
	}
	for _, row := range file.Rows {
		if strings.HasPrefix(row.ID, "ACTX-") && !slices.Contains(names, row.ID) {
			t.Errorf("the suite has no case %s", row.ID)
		}
	}
	if len(file.Rows) < 16 {
		t.Errorf("%d rows", len(file.Rows))
	}
}
