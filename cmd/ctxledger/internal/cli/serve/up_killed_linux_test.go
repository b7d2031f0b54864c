package serve_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// engineOf returns the process id of the running engine of a data folder, or 0.
func engineOf(t *testing.T, data string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(line, []byte("ctxledger-clickhouse\x00")) || !bytes.Contains(line, []byte(data)) {
			continue // it has ended, or is another one
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	return 0
}

// TestEngineKilledWhileUpStarts: the engine is killed at several moments of the start of `up`, also while
// the tables are made. `up` becomes ready all the same.
func TestEngineKilledWhileUpStarts(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	for _, delays := range [][]time.Duration{{0, 100 * time.Millisecond, 300 * time.Millisecond}, {1200 * time.Millisecond, time.Second}, {700 * time.Millisecond, 700 * time.Millisecond, 700 * time.Millisecond}} {
		t.Run(fmt.Sprint(delays), func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			killed := make(chan int, 1)
			stop := make(chan struct{})
			go func() {
				n := 0
				defer func() { killed <- n }()
				for _, delay := range delays {
					for engineOf(t, data) == 0 {
						select {
						case <-stop:
							return
						case <-time.After(10 * time.Millisecond):
						}
					}
					time.Sleep(delay)
					if pid := engineOf(t, data); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
						n++
					}
				}
			}()
			p, _ := clitest.BeginUp(t, data)
			defer func() { // the engine ends before its folder is removed
				if err := p.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
				p.Code(t, clitest.StartPatience)
			}()
			close(stop)
			if n := <-killed; n == 0 {
				t.Error("no engine was killed")
			}
			clitest.PublishItems(t, data, 0, 3)
			for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
				stdout, stderr, _ := clitest.Run(t, "query", "--sql", "SELECT count() AS n FROM recorded_events", "-o", "csv", "--data", data)
				if stdout == "n\n3\n" { // the last kill may have come after the start
					return
				}
				if time.Now().After(end) {
					t.Fatalf("the ledger answers %q, want 3 events: %s", stdout, stderr)
				}
			}
		})
	}
}
