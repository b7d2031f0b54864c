package operate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// recordedItems is the number of log items in the tables of a ledger.
func recordedItems(t *testing.T, data string) string {
	t.Helper()
	rows := clitest.Ask(t, data, "--sql", "SELECT count() AS n FROM recorded_events WHERE event_type = 'context.log.appended'")
	return fmt.Sprint(rows[0]["n"])
}

// awaitItems waits until a ledger has this number of log items.
func awaitItems(t *testing.T, data string, want int) {
	t.Helper()
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		n := recordedItems(t, data)
		if n == fmt.Sprint(want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger has %v events, want %d", n, want)
		}
	}
}

// signedHead is the text of the newest tree head of a ledger: its origin, its size and its root.
func signedHead(t *testing.T, data string) string {
	t.Helper()
	stdout, stderr, code := clitest.Run(t, "proof", "checkpoint", "--data", data)
	if code != cli.ExitDone {
		t.Fatalf("proof checkpoint ended with %d: %s", code, stderr)
	}
	return strings.Join(strings.SplitN(stdout, "\n", 4)[:3], "\n")
}

// awaitHead waits until a ledger has a tree head of this text.
func awaitHead(t *testing.T, data string, want func() string) {
	t.Helper()
	for end := time.Now().Add(clitest.StartPatience); signedHead(t, data) != want(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the heads are\n%s\nand\n%s", want(), signedHead(t, data))
		}
	}
}

// emptyMachine begins `up` with the keys of another installation.
func emptyMachine(t *testing.T, keysOf string) (machine *clitest.Program, data string) {
	t.Helper()
	data = t.TempDir()
	if err := os.CopyFS(filepath.Join(data, "keys"), os.DirFS(filepath.Join(keysOf, "keys"))); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(data, "keys", "*"))
	for _, file := range keys {
		err = os.Chmod(file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	machine, _ = clitest.BeginUp(t, data)
	return machine, data
}

// TestKilledRestores kills restores of an incremental backup, each on an empty machine, at moments that are
// spread over their duration. Nothing half is seen, and the same command then restores all.
// CTXLEDGER_FAULTS=long kills 20.
func TestKilledRestores(t *testing.T) {
	t.Parallel()
	kills := 1
	if os.Getenv("CTXLEDGER_FAULTS") == "long" {
		kills = 20
	}
	old, target := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	clitest.Up(t, old)
	for i := range 2 {
		clitest.PublishItems(t, old, i*1000, i*1000+1000)
		awaitItems(t, old, i*1000+1000)
		if stdout, stderr, code := clitest.Run(t, "backup", "create", target, "--data", old, fmt.Sprint("--incremental=", i > 0)); code != cli.ExitDone {
			t.Fatalf("backup %d ended with %d\n%s%s", i, code, stdout, stderr)
		}
	}
	names, err := filepath.Glob(filepath.Join(target, "backup-*"))
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	restore := []string{"backup", "restore", names[1], "--data"}
	head := signedHead(t, old)
	restored := func(data string) {
		t.Helper()
		if stdout, stderr, code := clitest.Run(t, append(restore, data)...); code != cli.ExitDone {
			t.Fatalf("restore ended with %d\n%s%s", code, stdout, stderr)
		}
		awaitItems(t, data, 2000)
		awaitHead(t, data, func() string { return head })
		for _, folder := range []string{"backups/*", "backup-work/[^.]*"} {
			if left, err := filepath.Glob(filepath.Join(data, "clickhouse", folder)); err != nil || len(left) > 0 {
				t.Errorf("left over: %v, %v", left, err)
			}
		}
		if rows := clitest.Ask(t, data, "--sql", "SELECT count() AS n FROM repeated_events"); fmt.Sprint(rows[0]["n"]) != "0" {
			t.Errorf("%v events are there twice", rows[0]["n"])
		}
	}
	machine, data := emptyMachine(t, old)
	began := time.Now()
	restored(data)
	took := time.Since(began)
	clitest.End(t, machine)

	ended := 0
	for i := range kills {
		machine, data := emptyMachine(t, old)
		p := clitest.Command(append(restore, data)...).Begin(t)
		time.Sleep(took * time.Duration(i+1) / time.Duration(kills+1))
		if err := p.Process.Signal(syscall.SIGKILL); err != nil && !p.Ended() {
			t.Fatal(err)
		}
		if p.Code(t, 30*time.Second) == cli.ExitDone {
			ended++
		}
		if n := recordedItems(t, data); n != "0" && n != "2000" {
			t.Errorf("after kill %d the tables show %s events", i, n)
		}
		restored(data)
		clitest.PublishItems(t, data, 2000, 2010)
		awaitItems(t, data, 2010)
		clitest.End(t, machine)
	}
	t.Logf("%d kills, %d of them after the end; a restore takes %v", kills, ended, took)
}
