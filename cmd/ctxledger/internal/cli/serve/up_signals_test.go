package serve_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestSignalsEndUp: both signals that ask a program to end do, in order.
func TestSignalsEndUp(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		data := t.TempDir()
		p, _ := clitest.BeginUp(t, data)
		began := time.Now()
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := p.Code(t, 30*time.Second); code != cli.ExitDone {
			t.Errorf("up ended with %d on %s\n%s", code, signal, &p.Messages)
		}
		t.Logf("%s ended up in %s", signal, time.Since(began).Round(time.Millisecond))
		clitest.NothingRunsOn(t, data, 0)
	}
}

// TestKilledUpLeavesNoEngine: the engine ends by itself when up is killed.
func TestKilledUpLeavesNoEngine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p, _ := clitest.BeginUp(t, data)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Code(t, 30*time.Second)
	clitest.NothingRunsOn(t, data, 30*time.Second)
}
