package clitest

import (
	"bytes"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

// Printed is what a running program has printed so far.
type Printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (f *Printed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *Printed) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}

// Must ends the test with an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Await waits for a condition.
func Await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(StartPatience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s", StartPatience, what)
		}
	}
}

// End interrupts `up` and returns what it wrote on standard error.
func End(t *testing.T, p *Program) string {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.Code(t, StartPatience); code != cli.ExitDone {
		t.Errorf("up ended with %d\n%s", code, &p.Messages)
	}
	return p.Messages.String()
}

// AwaitRow waits until the answer to a query is one row, as CSV.
func AwaitRow(t *testing.T, data, sql, want string) {
	t.Helper()
	for deadline := time.Now().Add(StartPatience); ; time.Sleep(50 * time.Millisecond) {
		out, stderr, code := Run(t, "query", "--data", data, "-o", "csv", "--sql", sql)
		if code != cli.ExitDone {
			t.Fatal(stderr)
		}
		_, row, _ := strings.Cut(out, "\n")
		if strings.TrimSpace(row) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the ledger answers %s, want %s: %s", row, want, sql)
		}
	}
}
