package operate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/backup"
)

// TestKilledBackups kills backups at moments that are spread over their duration, full and incremental
// ones in turns. `backup list` shows none of them, and the next backup is whole. CTXLEDGER_FAULTS=long
// kills 20.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("CTXLEDGER_FAULTS") == "long" {
		kills = 20
	}
	data, target := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	clitest.Up(t, data)
	create := func(incremental bool) []string {
		return []string{"backup", "create", target, "--data", data, fmt.Sprint("--incremental=", incremental)}
	}
	whole := func(incremental bool) time.Duration {
		began := time.Now()
		if stdout, stderr, code := clitest.Run(t, create(incremental)...); code != cli.ExitDone {
			t.Fatalf("backup ended with %d\n%s%s", code, stdout, stderr)
		}
		return time.Since(began)
	}
	took, done := whole(false), 1
	clitest.PublishItems(t, data, 0, 2000)
	for i := range kills {
		p := clitest.Command(create(i%2 == 1)...).Begin(t)
		time.Sleep(took * time.Duration(i+1) / time.Duration(kills+1))
		if err := p.Process.Signal(syscall.SIGKILL); err != nil && !p.Ended() {
			t.Fatal(err)
		}
		if p.Code(t, 30*time.Second) == cli.ExitDone { // it was faster than the first one
			done++
		}
		list, err := backup.List(target)
		if err != nil || len(list) != done {
			t.Fatalf("after kill %d: listed %d backups, want %d: %v", i, len(list), done, err)
		}
	}
	whole(true)
	whole(false)
	list, err := backup.List(target)
	if err != nil || len(list) != done+2 {
		t.Fatalf("listed %d backups, want %d: %v", len(list), done+2, err)
	}
	for _, l := range list {
		if _, err := backup.Verify(t.Context(), l.Dir, nil); err != nil {
			t.Errorf("%s: %v", l.Dir, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(data, "clickhouse", "backups", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	t.Logf("%d kills, %d of them after the end; a backup takes %v", kills, done-1, took)
}

// keysFor writes the keys of a backup to an empty data folder, and tries what must be refused.
func keysFor(t *testing.T, dir, data string, identity *age.X25519Identity) {
	t.Helper()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "identity")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	right, broken := write("# public key: "+identity.Recipient().String()+"\n"+identity.String()+"\n"), identity.String()[:60]
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "keys", "ledger.proof"), []byte("of another ledger"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data, identity, says string
		code                 int
	}{
		"a stranger":       {t.TempDir(), write(stranger.String()), "encrypted to other recipients", cli.ExitFailed},
		"no identity":      {t.TempDir(), write(broken), "want a file of \"age-keygen\"", cli.ExitUsage},
		"a used folder":    {other, right, "another key file of this name", cli.ExitFailed},
		"an empty folder":  {data, right, "ledger.proof", cli.ExitDone},
		"the same, again":  {data, right, "ledger.proof", cli.ExitDone},
		"without the file": {t.TempDir(), filepath.Join(other, "absent"), "--identity: open", cli.ExitUsage},
	} {
		stdout, stderr, code := clitest.Run(t, "backup", "keys", dir, "--identity", c.identity, "--data", c.data)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) || strings.Contains(stdout+stderr, broken) {
			t.Errorf("%s: %d %s%s", name, code, stdout, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(c.data, "keys", "*")); code != cli.ExitDone && len(left) > 1 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// TestRestoreOnAnotherMachine restores an incremental backup on a new `up` with the old keys, while it is killed
// at moments that are spread over its duration, once with the machine. The new ledger answers as the old one, its log has the
// same head, and it goes on.
func TestRestoreOnAnotherMachine(t *testing.T) {
	t.Parallel()
	old, target, data := t.TempDir(), filepath.Join(t.TempDir(), "kept"), t.TempDir()
	clitest.Up(t, old)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	pack := filepath.Join(t.TempDir(), "pack")
	for i := range 2 {
		clitest.PublishItems(t, old, i*1000, i*1000+1000)
		awaitItems(t, old, i*1000+1000)
		if i == 0 {
			if _, stderr, code := clitest.Run(t, "evidence", "export", "--session", "s-1", "--out", pack, "--data", old); code != cli.ExitDone {
				t.Fatalf("export ended with %d: %s", code, stderr)
			}
		}
		stdout, stderr, code := clitest.Run(t, "backup", "create", target, "--data", old, "-o", "json", "--recipient", identity.Recipient().String(), fmt.Sprint("--incremental=", i > 0))
		if code != cli.ExitDone {
			t.Fatalf("backup %d ended with %d\n%s%s", i, code, stdout, stderr)
		}
	}
	list, err := backup.List(target)
	if err != nil || len(list) != 2 || list[1].Base.Name != list[0].Name {
		t.Fatal(list, err)
	}
	dir := list[1].Dir
	restore := []string{"backup", "restore", dir, "--data"}
	if _, stderr, code := clitest.Run(t, append(restore, old)...); code != cli.ExitDone || stderr != "" {
		t.Errorf("the old installation said %d %s", code, stderr)
	}
	other := t.TempDir()
	clitest.Up(t, other)
	if _, stderr, code := clitest.Run(t, append(restore, other)...); code != cli.ExitFailed || !strings.Contains(stderr, "put its folder keys/ into the data folder") {
		t.Errorf("an installation with other keys said %d %s", code, stderr)
	}

	keysFor(t, dir, data, identity)
	machine, _ := clitest.BeginUp(t, data)
	for i := range 3 {
		p := clitest.Command(append(restore, data)...).Begin(t)
		select {
		case <-p.Done:
		case <-time.After(time.Duration(i+1) * 700 * time.Millisecond):
		}
		_ = p.Process.Signal(syscall.SIGKILL)
		<-p.Done
		if i == 1 { // the machine fails, too
			_ = machine.Process.Kill()
			<-machine.Done
			machine = clitest.Command(append([]string{"up", "--data", data}, clitest.AnyPorts...)...).Begin(t) // it is ready after the restore
		}
	}
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(100 * time.Millisecond) {
		stdout, stderr, code := clitest.Run(t, append(restore, data)...)
		if code == cli.ExitDone {
			break
		}
		if code != cli.ExitUnreachable || time.Now().After(end) || machine.Ended() { // its servers start
			t.Fatalf("restore ended with %d\n%s%s", code, stdout, stderr)
		}
	}
	awaitItems(t, data, 2000)
	key, _, _ := clitest.Run(t, "proof", "keygen", "--data", data) // up has found it
	if stdout, stderr, code := clitest.Run(t, "evidence", "verify", pack, "--key", strings.TrimSpace(key)); code != cli.ExitDone {
		t.Errorf("the verification of an old pack ended with %d\n%s%s", code, stdout, stderr)
	}
	clitest.PublishItems(t, data, 2000, 2500)
	awaitItems(t, data, 2500)
	clitest.PublishItems(t, old, 2000, 2500)
	awaitItems(t, old, 2500)
	awaitHead(t, data, func() string { return signedHead(t, old) })
	if _, stderr, code := clitest.Run(t, append(restore, data)...); code != cli.ExitDone {
		t.Errorf("the restore that was done said %d %s", code, stderr)
	}
}

// TestUpgradeWhileARestoreIsInterrupted opens an installation in which a restore has not finished and
// whose tables an upgrade of the program has made too old.
func TestUpgradeWhileARestoreIsInterrupted(t *testing.T) {
	t.Parallel()
	data, target := t.TempDir(), t.TempDir()
	found := clitest.Up(t, data)
	if stdout, stderr, code := clitest.Run(t, "backup", "create", target, "--data", data); code != cli.ExitDone {
		t.Fatalf("backup ended with %d\n%s%s", code, stdout, stderr)
	}
	list, err := backup.List(target)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	l, err := ledger.Open(t.Context(), found.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	set, err := shadow.Of(l).Beside(t.Context())
	if err == nil {
		err = set.BeginRestore(t.Context(), "backup-x", uuid.New())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(set.Close(), set.Drop(context.Background())); err != nil {
			t.Error(err)
		}
	}()
	if err := embeddedtest.Connect(t, found.ClickHouseDSN).Exec(t.Context(), "DROP VIEW turn_window"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor"}, {"rebuild"}} {
		if stdout, stderr, code := clitest.Run(t, append(args, "--data", data)...); code == cli.ExitDone || !strings.Contains(stdout+stderr, "backup-x: a restore") {
			t.Errorf("%v ended with %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if _, stderr, code := clitest.Run(t, "backup", "restore", list[0].Dir, "--data", data); code == cli.ExitDone || !strings.Contains(stderr, shadow.ErrOtherRestore.Error()) {
		t.Errorf("the restore of another backup ended with %d: %s", code, stderr)
	}
}
