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
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// TestBackupsOfACluster restores a backup of two shards, whose partition has moved since, on another cluster. The
// restore is interrupted at each step, and between the swaps of two shards. Afterwards all rows are there.
func TestBackupsOfACluster(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	r.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	prices := filepath.Join(r.data, "prices.csv")
	if err := os.WriteFile(prices, []byte("model,bucket,per_million,currency,source\n*,input,2.5,EUR,test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.must("prices", "import", prices)
	r.must("bench", "seed", "--events", "600", "--days", "20")
	r.must("project", "--until-caught-up")
	r.must("migrate", "--cluster", embeddedtest.ClusterName, "--tenant", "acme", "--partitions", "4")
	r.must("shards", "move", "--partition", "0", "--to", "2")
	target := t.TempDir()
	create := append([]string{"backup", "create", target}, r.folders()...)
	r.refusesBackups(target)
	if out := r.must(create...); !strings.Contains(out, "\nshard 2, stream CTX_0: up to") || !strings.Contains(out, "\nshard 1, stream CTX_2: up to") {
		t.Errorf("the backup printed %s", out)
	}
	r.must("shards", "move", "--partition", "1", "--to", "1")
	r.must("bench", "seed", "--events", "300", "--days", "20", "--tenants", "1", "--seed", "2")
	r.must("project", "--until-caught-up")
	r.must(append(create, "--incremental")...)
	list := strings.Fields(strings.Split(strings.TrimSpace(r.must("backup", "list", target)), "\n")[1])
	dir := list[0]
	r.must("backup", "verify", dir)

	b := newShardRig(t, 2)
	b.data = r.data
	b.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	b.interrupts(dir)
	restore := append([]string{"backup", "restore", dir}, b.folders()...)
	if out := b.must(restore...); !strings.Contains(out, "\nstream CTX_3: projected up to sequence") {
		t.Errorf("the restore printed %s", out)
	}
	if out := b.must(restore...); !strings.Contains(out, "the installation already holds backup-") {
		t.Errorf("a second restore printed %s", out)
	}
	for _, table := range append(ledger.Tables(), "prices") {
		rows, digest := digests(t, b.ledgers().All(), table)
		if want, of := digests(t, r.ledgers().All(), table); rows != want || digest != of {
			t.Errorf("the restored shards have %d rows of %s, and the others have %d", rows, table, want)
		}
	}
	if m, err := shardmap.Read(t.Context(), b.js); err != nil || fmt.Sprint(m.Shards) != "[2 2 1 2]" {
		t.Errorf("the map is %+v: %v", m, err)
	}
	for _, rig := range []*shardRig{r, b} { // the streams go on
		rig.must("bench", "seed", "--events", "100", "--days", "20", "--tenants", "1", "--seed", "3")
		rig.must("project", "--until-caught-up")
	}
	rows, _ := digests(t, b.ledgers().All(), "events")
	if want, _ := digests(t, r.ledgers().All(), "events"); rows != want {
		t.Errorf("%d events, want %d", rows, want)
	}
}

// folders returns the flags that name the folders of backups of all shards.
func (r *shardRig) folders() (flags []string) {
	for _, s := range r.shards {
		flags = append(flags, "--clickhouse-backups", s.BackupsDir())
	}
	return flags
}

// refusesBackups: what cannot be backed up is named, and nothing is left.
func (r *shardRig) refusesBackups(target string) {
	r.t.Helper()
	folder := r.shards[0].BackupsDir()
	for says, flags := range map[string][]string{
		"3 folders are named for 2 shards": append(r.folders(), "--clickhouse-backups", folder),
		"ClickHouse wrote no copy to":      {"--clickhouse-backups", folder},
		"absent":                           {"--clickhouse-backups", filepath.Join(folder, "absent")},
	} {
		if _, stderr, code := r.run(append([]string{"backup", "create", target}, flags...)...); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.t.Errorf("%v ended with %d: %s", flags, code, stderr)
		}
	}
	m, err := shardmap.Read(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, move := range []*shardmap.Move{{Partition: 0, From: 1, To: 2, Step: shardmap.Copying}, nil} {
		m.Move = move
		if err := m.Save(r.t.Context(), r.js); err != nil {
			r.t.Fatal(err)
		}
		if move == nil {
			break
		}
		if _, stderr, code := r.run(append([]string{"backup", "create", target}, r.folders()...)...); code != cli.ExitFailed || !strings.Contains(stderr, "a partition is being moved") {
			r.t.Errorf("a backup during a move ended with %d: %s", code, stderr)
		}
	}
	if out := r.must("backup", "list", target); out != "no backups\n" {
		r.t.Errorf("refused backups left %s", out)
	}
}

// waits matches the message of a projector of the first shard.
var waits = regexp.MustCompile(`stream=CTX_2 .*a restore of a backup runs`)

// interrupts interrupts a restore in its steps, and between the swaps of the shards. No projector writes to the
// first shard while the second one lacks its redactions.
func (r *shardRig) interrupts(dir string) {
	r.t.Helper()
	for _, at := range []string{"restoring the tables", "restoring stream CTX_2", "projecting CTX_1", "swapping the tables"} {
		ctx, cancel := context.WithCancel(r.t.Context())
		m, err := shardmap.Read(ctx, r.js)
		if err != nil {
			r.t.Fatal(err)
		}
		var staging []string
		for _, s := range r.shards {
			staging = append(staging, s.BackupsDir())
		}
		_, err = backup.Restore{
			JetStream: r.js, Tables: m.Tables(r.ledgers()), Dir: dir, Staging: staging, Keys: cli.KeysIn(r.data),
			Ring:      func() (proof.Ring, error) { return keyfile.ReadRing(r.data) },
			Projector: projector.ForRebuild,
			Progress: func(step string, done, _ int64) {
				if step == at {
					cancel()
				}
			},
		}.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			r.t.Fatalf("interrupted at %s: %v", at, err)
		}
	}
	swapped, restoring := 0, 0
	for _, l := range r.ledgers().All() {
		if n, _ := digests(r.t, []*ledger.Ledger{l}, "events"); n > 0 {
			swapped++
		} else {
			restoring++
		}
	}
	if swapped != 1 || restoring != 1 {
		r.t.Fatalf("%d shards are restored, %d are not", swapped, restoring)
	}
	file := filepath.Join(r.t.TempDir(), "stderr")
	stderr, err := os.Create(file)
	if err != nil {
		r.t.Fatal(err)
	}
	defer stderr.Close()
	p := r.command("project", "--until-caught-up")
	p.Stderr = stderr
	p.Begin(r.t)
	for deadline := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		if waits.Match(text) {
			break
		}
		if p.Ended() || time.Now().After(deadline) {
			r.t.Fatalf("project did not wait for the restore: %s", text)
		}
	}
	_ = p.Process.Signal(syscall.SIGTERM) // its leases are free at once
	p.Code(r.t, time.Minute)
}
