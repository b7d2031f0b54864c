package shards_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// shardRig is a [shardtest.Rig] whose backups have folders.
type shardRig struct{ *shardtest.Rig }

func newShardRig(t *testing.T, n int) *shardRig {
	t.Helper()
	return &shardRig{shardtest.NewRig(t, n)}
}

// TestBackupsOfACluster restores a backup of two shards, whose partition has moved since, on another cluster. The
// restore is interrupted at each step, and between the swaps of two shards. Afterwards all rows are there.
func TestBackupsOfACluster(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	r.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	prices := filepath.Join(r.Data, "prices.csv")
	if err := os.WriteFile(prices, []byte("model,bucket,per_million,currency,source\n*,input,2.5,EUR,test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Must("prices", "import", prices)
	r.Must("bench", "seed", "--events", "600", "--days", "20")
	r.Must("project", "--until-caught-up")
	r.Must("migrate", "--cluster", embeddedtest.ClusterName, "--tenant", "acme", "--partitions", "4")
	r.Must("shards", "move", "--partition", "0", "--to", "2")
	target := t.TempDir()
	create := append([]string{"backup", "create", target}, r.folders()...)
	r.refusesBackups(target)
	if out := r.Must(create...); !strings.Contains(out, "\nshard 2, stream CTX_0: up to") || !strings.Contains(out, "\nshard 1, stream CTX_2: up to") {
		t.Errorf("the backup printed %s", out)
	}
	r.Must("shards", "move", "--partition", "1", "--to", "1")
	r.Must("bench", "seed", "--events", "300", "--days", "20", "--tenants", "1", "--seed", "2")
	r.Must("project", "--until-caught-up")
	r.Must(append(create, "--incremental")...)
	list := strings.Fields(strings.Split(strings.TrimSpace(r.Must("backup", "list", target)), "\n")[1])
	dir := list[0]
	r.Must("backup", "verify", dir)

	b := newShardRig(t, 2)
	b.Data = r.Data
	b.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	b.interrupts(dir)
	restore := append([]string{"backup", "restore", dir}, b.folders()...)
	if out := b.Must(restore...); !strings.Contains(out, "\nstream CTX_3: projected up to sequence") {
		t.Errorf("the restore printed %s", out)
	}
	if out := b.Must(restore...); !strings.Contains(out, "the installation already holds backup-") {
		t.Errorf("a second restore printed %s", out)
	}
	for _, table := range append(ledger.Tables(), "prices") {
		rows, digest := shardtest.Digests(t, b.Ledgers().All(), table)
		if want, of := shardtest.Digests(t, r.Ledgers().All(), table); rows != want || digest != of {
			t.Errorf("the restored shards have %d rows of %s, and the others have %d", rows, table, want)
		}
	}
	if m, err := shardmap.Read(t.Context(), b.JS); err != nil || fmt.Sprint(m.Shards) != "[2 2 1 2]" {
		t.Errorf("the map is %+v: %v", m, err)
	}
	for _, rig := range []*shardRig{r, b} { // the streams go on
		rig.Must("bench", "seed", "--events", "100", "--days", "20", "--tenants", "1", "--seed", "3")
		rig.Must("project", "--until-caught-up")
	}
	rows, _ := shardtest.Digests(t, b.Ledgers().All(), "events")
	if want, _ := shardtest.Digests(t, r.Ledgers().All(), "events"); rows != want {
		t.Errorf("%d events, want %d", rows, want)
	}
}

// folders returns the flags that name the folders of backups of all shards.
func (r *shardRig) folders() (flags []string) {
	for _, s := range r.Shards {
		flags = append(flags, "--clickhouse-backups", s.BackupsDir())
	}
	return flags
}

// refusesBackups: what cannot be backed up is named, and nothing is left.
func (r *shardRig) refusesBackups(target string) {
	r.T.Helper()
	folder := r.Shards[0].BackupsDir()
	for says, flags := range map[string][]string{
		"3 folders are named for 2 shards": append(r.folders(), "--clickhouse-backups", folder),
		"ClickHouse wrote no copy to":      {"--clickhouse-backups", folder},
		"absent":                           {"--clickhouse-backups", filepath.Join(folder, "absent")},
	} {
		if _, stderr, code := r.Run(append([]string{"backup", "create", target}, flags...)...); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.T.Errorf("%v ended with %d: %s", flags, code, stderr)
		}
	}
	m, err := shardmap.Read(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	for _, move := range []*shardmap.Move{{Partition: 0, From: 1, To: 2, Step: shardmap.Copying}, nil} {
		m.Move = move
		if err := m.Save(r.T.Context(), r.JS); err != nil {
			r.T.Fatal(err)
		}
		if move == nil {
			break
		}
		if _, stderr, code := r.Run(append([]string{"backup", "create", target}, r.folders()...)...); code != cli.ExitFailed || !strings.Contains(stderr, "a partition is being moved") {
			r.T.Errorf("a backup during a move ended with %d: %s", code, stderr)
		}
	}
	if out := r.Must("backup", "list", target); out != "no backups\n" {
		r.T.Errorf("refused backups left %s", out)
	}
}

// waits matches the message of a projector of the first shard.
var waits = regexp.MustCompile(`stream=CTX_2 .*a restore of a backup runs`)

// interrupts interrupts a restore in its steps, and between the swaps of the shards. No projector writes to the
// first shard while the second one lacks its redactions.
func (r *shardRig) interrupts(dir string) {
	r.T.Helper()
	for _, at := range []string{"restoring the tables", "restoring stream CTX_2", "projecting CTX_1", "swapping the tables"} {
		ctx, cancel := context.WithCancel(r.T.Context())
		m, err := shardmap.Read(ctx, r.JS)
		if err != nil {
			r.T.Fatal(err)
		}
		var staging []string
		for _, s := range r.Shards {
			staging = append(staging, s.BackupsDir())
		}
		_, err = backup.Restore{
			JetStream: r.JS, Tables: m.Tables(r.Ledgers()), Dir: dir, Staging: staging, Keys: cli.KeysIn(r.Data),
			Ring:      func() (proof.Ring, error) { return keyfile.ReadRing(r.Data) },
			Projector: projector.ForRebuild,
			Progress: func(step string, done, _ int64) {
				if step == at {
					cancel()
				}
			},
		}.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			r.T.Fatalf("interrupted at %s: %v", at, err)
		}
	}
	swapped, restoring := 0, 0
	for _, l := range r.Ledgers().All() {
		if n, _ := shardtest.Digests(r.T, []*ledger.Ledger{l}, "events"); n > 0 {
			swapped++
		} else {
			restoring++
		}
	}
	if swapped != 1 || restoring != 1 {
		r.T.Fatalf("%d shards are restored, %d are not", swapped, restoring)
	}
	file := filepath.Join(r.T.TempDir(), "stderr")
	stderr, err := os.Create(file)
	if err != nil {
		r.T.Fatal(err)
	}
	defer stderr.Close()
	p := r.Command("project", "--until-caught-up")
	p.Stderr = stderr
	p.Begin(r.T)
	for deadline := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err != nil {
			r.T.Fatal(err)
		}
		if waits.Match(text) {
			break
		}
		if p.Ended() || time.Now().After(deadline) {
			r.T.Fatalf("project did not wait for the restore: %s", text)
		}
	}
	_ = p.Process.Signal(syscall.SIGTERM) // its leases are free at once
	p.Code(r.T, time.Minute)
}
