package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// backedUp makes a backup and returns its folder.
func (f *fixture) backedUp() string {
	f.t.Helper()
	target := f.t.TempDir()
	m, err := backup.Create{JetStream: f.js, Ledger: f.ledger, Target: target, Staging: f.servers.BackupsDir(), Keys: projectortest.Keys(f.t), Version: "test", Timing: quickTiming}.Run(f.t.Context())
	f.must(err)
	return filepath.Join(target, m.Name)
}

func (f *fixture) restore(dir string) backup.Restore {
	return backup.Restore{
		JetStream: f.js, Ledger: f.ledger, Dir: dir, Staging: f.servers.BackupsDir(), Keys: projectortest.Keys(f.t), Ring: testLogRing,
		Projector: ForRebuild, Timing: quickTiming,
		Log: slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

func (f *fixture) restored(r backup.Restore) backup.Restored {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 90*time.Second)
	defer cancel()
	done, err := r.Run(ctx)
	f.must(err)
	return done
}

// digests returns the number and the digest of the rows of every table that is derived from the
// streams, of the signed tree heads and of the prices.
func (f *fixture) digests() map[string]string {
	f.t.Helper()
	all := make(map[string]string)
	for _, table := range append(ledger.Tables(), "retold", "checkpoints", "prices", "limits", "reintroductions") {
		var rows uint64
		var digest string
		f.must(f.sql.QueryRow(f.t.Context(), "SELECT count(), toString(sum(xxh3_128(tuple(*)))) FROM (SELECT * FROM "+table+" FINAL)").Scan(&rows, &digest))
		all[table] = fmt.Sprint(rows, " rows ", digest)
	}
	return all
}

// headRows are the rows of the signed tree heads.
func (f *fixture) headRows() (list []string) {
	f.t.Helper()
	f.must(f.sql.QueryRow(f.t.Context(), "SELECT groupArray(toString(tuple(*))) FROM (SELECT * FROM checkpoints FINAL)").Scan(&list))
	return list
}

func (f *fixture) sameTables(want map[string]string) {
	f.t.Helper()
	got := f.digests()
	for table := range want {
		if got[table] != want[table] {
			f.t.Errorf("%s: %s, want %s", table, got[table], want[table])
		}
	}
}

// TestRestoreOnAnEmptyInstallation: the tables and the log are those of the first installation, as it
// was when the streams were copied. Then the second one goes on like the first one.
func TestRestoreOnAnEmptyInstallation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	f.must(f.sql.Exec(t.Context(), "INSERT INTO prices (model, bucket, currency, per_million, version) VALUES ('m', 'input', 'USD', 3, 1)"))
	f.publishAll(1000) // these are in the stream only
	dir := f.backedUp()
	heads := f.headRows()
	f.must(f.run(f.guarded(new(logbook))))
	want := f.digests()
	delete(want, "checkpoints") // the waiting projector signs the next head at once

	g := newFixture(t)
	live := g.guarded(new(logbook)) // a projector waits for the first event
	stop := g.follow(live)
	g.await("it projects", func() bool { return live.Status().Ready })
	done := g.restored(g.restore(dir))
	if done.Finished || done.Committed[schema.EventStream] != 68 {
		t.Errorf("restored %+v", done)
	}
	g.sameTables(want)
	for _, head := range heads {
		if !slices.Contains(g.headRows(), head) {
			t.Errorf("the head %s is lost", head)
		}
	}
	if g.incarnation() != f.incarnation() || g.leftovers() > 0 {
		t.Errorf("incarnation %s, want %s; %d tables are left", g.incarnation(), f.incarnation(), g.leftovers())
	}
	// The same events on both sides give the same rows, and the waiting projector reads them.
	g.await("it projects again", func() bool { return live.Status().Ready })
	for _, x := range []*fixture{f, g} {
		x.sent = 5000
		x.publishAll(2000)
	}
	g.awaitLevel()
	g.must(stop())
	f.must(f.run(f.guarded(new(logbook))))
	f.sameRoots(g)
	again := g.rebuild()
	again.CompareOnly = true
	g.rebuilt(again)
	if done := g.restored(g.restore(dir)); !done.Finished {
		t.Errorf("the second time: %+v", done)
	}
}

// sameRoots compares the leaves of both transparency logs. The times of messages differ, leaves have
// none.
func (f *fixture) sameRoots(g *fixture) {
	f.t.Helper()
	const leaves = "SELECT groupArray(hex(hash)) FROM (SELECT hash FROM log_hashes FINAL ORDER BY log_index)"
	var one, two []string
	f.must(f.sql.QueryRow(f.t.Context(), leaves).Scan(&one))
	f.must(g.sql.QueryRow(f.t.Context(), leaves).Scan(&two))
	if len(one) == 0 || fmt.Sprint(one) != fmt.Sprint(two) {
		f.t.Errorf("the logs have %d and %d leaves and differ", len(one), len(two))
	}
}

// TestRestoreKilledAtEachStep kills a restore after each of its steps, also within its projection and
// its swap. The next one finishes it, and the tables are the same as without a kill.
func TestRestoreKilledAtEachStep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	f.publishAll(1000)
	dir := f.backedUp()
	heads := f.digests()["checkpoints"]
	f.must(f.run(f.guarded(new(logbook))))
	want := f.digests()
	want["checkpoints"] = heads
	for point, visit := range map[string]int{
		"begin": 1, pointHeld: 1, "restore the tables": 1, "delete later rows": 1, "restore the streams": 1, "erase": 1, pointWritten: 1,
		pointCommitted: 1, pointProjected: 1, pointCompared: 1, "keep": 1, "swapping": 1, "exchanged": 3, "swapped": 1,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			rings, err := projectortest.Keys(t)()
			g.must(err)
			cmd := g.child(childPoint+"="+point, fmt.Sprint(childVisit, "=", visit), childRestore+"="+dir+" "+g.servers.BackupsDir(), childKeys+"="+string(rings[0].Format()))
			if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("the restore was not killed: %v", err)
			}
			g.restored(g.restore(dir))
			g.sameTables(want)
			if g.leftovers() > 0 {
				t.Errorf("%d tables are left", g.leftovers())
			}
			again := g.rebuild()
			again.CompareOnly = true
			g.rebuilt(again)
		})
	}
}

// TestRestoreRefuses: an installation with events, keys of another one, and a backup that is damaged
// change nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	dir := f.backedUp()
	g := newFixture(t)
	empty := g.digests()
	refused := func(what string, r backup.Restore, want error) {
		t.Helper()
		if _, err := r.Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	without := g.restore(dir)
	without.Keys = nil
	refused("no keys", without, backup.ErrKeys)
	other := g.restore(dir)
	other.Ring = func() (proof.Ring, error) { return proof.NewRing(time.Now()) }
	refused("the ring of another ledger", other, backup.ErrKeys)
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(damaged, "streams", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	text, err := os.ReadFile(files[0])
	f.must(err)
	text[len(text)/2] ^= 1
	f.must(os.WriteFile(files[0], text, 0o600))
	refused("a damaged file", g.restore(damaged), backup.ErrChanged)
	refused("no backup", g.restore(t.TempDir()), backup.ErrNoBackup)
	g.sameTables(empty)
	g.publishAll(0)
	refused("messages", g.restore(dir), backup.ErrNotEmpty)
	g.must(g.run(g.guarded(new(logbook))))
	before := g.digests()
	refused("rows", g.restore(dir), backup.ErrNotEmpty)
	g.sameTables(before)
}
