package projector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// backedUp makes a backup and returns its folder.
func (f *fixture) backedUp() string {
	f.t.Helper()
	target := f.t.TempDir()
	m, err := backup.Create{JetStream: f.js, Tables: shardmap.Plain(f.ledger), Target: target, Staging: []string{f.servers.BackupsDir()}, Keys: projectortest.Keys(f.t), Version: "test", Timing: quickTiming}.Run(f.t.Context())
	f.must(err)
	return filepath.Join(target, m.Name)
}

func (f *fixture) restore(dir string) backup.Restore {
	return backup.Restore{
		JetStream: f.js, Tables: shardmap.Plain(f.ledger), Dir: dir, Staging: []string{f.servers.BackupsDir()}, Keys: projectortest.Keys(f.t), Ring: testLogRing,
		Projector: ForRebuild, Timing: quickTiming,
		Log: slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

// killedRestore restores in a process that kills itself at a visit of a point.
func (f *fixture) killedRestore(dir, point string, visit int) {
	f.t.Helper()
	rings, err := projectortest.Keys(f.t)()
	f.must(err)
	cmd := f.child(childPoint+"="+point, fmt.Sprint(childVisit, "=", visit), childRestore+"="+dir+" "+f.servers.BackupsDir(), childKeys+"="+string(rings[0].Format()))
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != -1 {
		f.t.Fatalf("the restore was not killed: %v", err)
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

// refusedCopies returns the codes of the messages that the quarantine stream has copies of.
func (f *fixture) refusedCopies() map[ledger.Position]string {
	f.t.Helper()
	all := make(map[ledger.Position]string)
	f.must(quarantine.Read(f.t.Context(), f.js, "", time.Time{}, func(_ uint64, r ledger.Refusal, _ bool) error {
		all[ledger.Position{Incarnation: r.Incarnation, StreamSeq: r.StreamSeq}] = r.Code
		return nil
	}))
	return all
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
	heads, copies := f.digests()["checkpoints"], f.refusedCopies()
	f.must(f.run(f.guarded(new(logbook))))
	want := f.digests()
	want["checkpoints"] = heads
	for at, code := range f.refusedCopies() {
		if code == string(schema.CodeReintroduced) {
			copies[at] = code // a restore deletes the message, and its copy is all that is left of it
		}
	}
	messages := f.messages()
	agree := f.rebuild() // the tables and the streams that each restore must bring agree
	agree.CompareOnly = true
	f.rebuilt(agree)
	for point, visit := range map[string]int{
		"begin": 1, pointHeld: 1, "close the streams": 1, "restore the tables": 1, "delete later rows": 1, "restore the streams": 1, "erase": 1, pointWritten: 1,
		pointCommitted: 1, pointProjected: 1, pointCompared: 1, "keep": 1, "swapping": 1, "exchanged": 3, "swapped": 1,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			g.killedRestore(dir, point, visit)
			if point == "close the streams" || point == "restore the tables" {
				e := projectortest.Event(1, 0).Binary()
				if _, err := g.js.PublishMsg(t.Context(), &nats.Msg{Subject: e.Subject, Header: nats.Header(e.Header), Data: e.Data}, jetstream.WithRetryAttempts(0)); err == nil {
					t.Error("an event was acknowledged that the restore deletes")
				}
			}
			if _, err := streamio.ReadPartitions(t.Context(), g.js); err != nil { // up asks for them
				t.Errorf("the interrupted restore left no streams: %v", err)
			}
			if err := shadow.Of(g.ledger).Restoring(t.Context()); point == "restore the streams" && (!errors.Is(err, shadow.ErrRestoring) || !strings.Contains(err.Error(), filepath.Base(dir))) {
				t.Errorf("the interrupted restore is %v", err)
			}
			g.restored(g.restore(dir))
			g.sameTables(want)
			if g.leftovers() > 0 {
				t.Errorf("%d tables are left", g.leftovers())
			}
			restored := g.messages()
			for _, name := range []string{schema.EventStream, schema.LastingStream} {
				if restored[name] != messages[name] {
					t.Errorf("the stream %s has other messages: %s, want %s", name, restored[name], messages[name])
				}
			}
			if got := g.refusedCopies(); !maps.Equal(got, copies) {
				t.Errorf("the quarantine stream has the copies %v, want %v", got, copies)
			}
		})
	}
}

// failingAt is a walker whose step of this name fails with errPlanned.
type failingAt string

var errPlanned = errors.New("a planned fault")

func (f failingAt) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	for _, s := range list {
		if s.Verb == string(f) {
			return errPlanned
		}
		if err := take(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// TestRestoreThatFailsLeavesNothing: after an error before the streams are restored, the installation is
// empty, a producer publishes, and a projector projects.
func TestRestoreThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	dir := f.backedUp()
	g := newFixture(t)
	empty := g.digests()
	r := g.restore(dir)
	r.Steps = failingAt("restore the streams")
	if _, err := r.Run(t.Context()); !errors.Is(err, errPlanned) {
		t.Fatal("the restore ended with", err)
	}
	g.sameTables(empty)
	g.publishAll(0)
	g.must(g.run(g.guarded(new(logbook))))
	for _, table := range ledger.Tables() {
		if f.count("SELECT count() FROM "+table+" FINAL") != g.count("SELECT count() FROM "+table+" FINAL") {
			t.Errorf("%s has other rows", table)
		}
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

// TestRestoreBeforeTheFirstCommit: an installation whose projector is behind has the backup of itself,
// which has messages and no rows.
func TestRestoreBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	dir := f.backedUp()
	before := f.digests()
	if done := f.restored(f.restore(dir)); !done.Finished {
		t.Errorf("restored: %+v", done)
	}
	f.sameTables(before)
	g := newFixture(t)
	if done := g.restored(g.restore(dir)); done.Finished {
		t.Errorf("restored to another installation: %+v", done)
	}
	events := func(f *fixture) uint64 {
		f.must(f.run(f.guarded(new(logbook))))
		return f.count("SELECT count() FROM events FINAL")
	}
	if own, other := events(f), events(g); own == 0 || own != other {
		t.Errorf("%d events where the backup was made, %d where it was restored", own, other)
	}
}

// rawRows returns the number of rows of each table that is derived from the streams, without FINAL.
func (f *fixture) rawRows() map[string]uint64 {
	f.t.Helper()
	all := make(map[string]uint64)
	for _, table := range append(ledger.Tables(), "commits", "retold") {
		all[table] = f.count("SELECT count() FROM " + table)
	}
	return all
}

// TestRestoreOfRowsOfALaterCommit: a projector is killed between its rows and their commit, and
// then the tables are copied. The restored tables have each row once.
func TestRestoreOfRowsOfALaterCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	f.publishAll(1000)
	f.flush()
	committed := f.count("SELECT max(last_seq) FROM commits")
	if err := f.child(childPoint+"="+pointWritten, childVisit+"=1").Run(); err == nil {
		t.Fatal("the projector was not killed")
	}
	if rows := f.count(fmt.Sprint("SELECT count() FROM events WHERE stream_seq > ", committed)); rows == 0 {
		t.Fatal("the tables have no rows after the last commit")
	}
	dir := f.backedUp()
	f.must(f.run(f.guarded(new(logbook))))
	g := newFixture(t)
	g.killedRestore(dir, "delete later rows", 1)
	set, err := shadow.Of(g.ledger).Beside(t.Context())
	g.must(err)
	if rows := g.count(fmt.Sprint("SELECT count() FROM ", set.Database(), ".events WHERE stream_seq > ", committed)); rows > 0 {
		t.Errorf("the tables have %d rows of a later commit", rows)
	}
	g.restored(g.restore(dir))
	want := f.rawRows()
	got := g.rawRows()
	for _, rows := range []map[string]uint64{want, got} {
		delete(rows, "commits") // the batches differ
	}
	for table := range want {
		if got[table] != want[table] {
			t.Errorf("%s has %d rows, want %d", table, got[table], want[table])
		}
	}
	digests := f.digests()
	delete(digests, "checkpoints") // the first projector signed more
	g.sameTables(digests)
}

// TestRestoreOfABackupUnderLoad: producers and a projector work while a full and an incremental backup
// are made. The restored tables are those that a rebuild gives, each row is there once, and the log is
// the front of the first log. The load is 200 events a second, and 3,000 with CTXLEDGER_MEASURE.
func TestRestoreOfABackupUnderLoad(t *testing.T) {
	t.Parallel()
	rate, first := 200, uint64(100) // else the tables of a slow machine grow for minutes
	if os.Getenv("CTXLEDGER_MEASURE") != "" {
		rate, first = 3000, 60_000
	}
	f := newFixture(t)
	f.publishAll(0)
	f.flush()
	p := f.guarded(new(logbook))
	p.config.BatchMessages, p.config.Linger = max(p.config.BatchMessages, rate/3), 100*time.Millisecond
	stop := f.follow(p)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- publishAtRate(ctx, f.js, rate) }()
	f.await("events are projected", func() bool { return f.count("SELECT max(last_seq) FROM commits") > first })
	type made struct {
		dir           string
		before, after uint64 // the last sequence of the stream
		took          time.Duration
	}
	var all []made
	for _, create := range []func() string{f.backedUp, func() string { return f.incremented(all[0].dir) }} {
		m := made{before: f.stream().CachedInfo().State.LastSeq}
		start := time.Now()
		m.dir = create()
		m.took, m.after = time.Since(start), f.stream().CachedInfo().State.LastSeq
		all = append(all, m)
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	t.Logf("published %.0f events a second", float64(f.stream().CachedInfo().State.LastSeq)/time.Since(began).Seconds())
	f.awaitLevel()
	f.must(stop())
	for _, made := range all {
		m, err := backup.ReadManifest(made.dir)
		f.must(err)
		g := newFixture(t)
		done := g.restored(g.restore(made.dir))
		last := done.Committed[schema.EventStream]
		if last <= made.before || last > made.after {
			t.Errorf("restored up to %d, want from %d to %d", last, made.before, made.after)
		}
		t.Logf("%d events in the %v of the backup, %d of them in it, %d after the tables", made.after-made.before, made.took, last-made.before, last-m.Streams[1].Committed)
		got := g.rawRows()
		for table, rows := range got {
			if final := g.count("SELECT count() FROM " + table + " FINAL"); rows != final {
				t.Errorf("%s has %d rows, %d of them differ", table, rows, final)
			}
		}
		again := g.rebuild()
		again.CompareOnly, again.BatchMessages = true, 5000
		g.rebuilt(again)
		leaves := fmt.Sprintf("SELECT toString(groupArray(hex(hash))) FROM (SELECT hash FROM log_hashes FINAL WHERE stream_seq <= %d ORDER BY log_index)", last)
		if fmt.Sprint(f.texts(leaves)) != fmt.Sprint(g.texts(leaves)) {
			t.Error("the log is not the front of the first log")
		}
	}
}

// publishAtRate publishes events at this rate a second until ctx ends. A server that is too slow gets the late
// ones in groups.
func publishAtRate(ctx context.Context, js jetstream.JetStream, rate int) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	n, began := 1000, time.Now()
	for {
		var waiting []jetstream.PubAckFuture
		for due := 1000 + int(time.Since(began).Seconds()*float64(rate)); n < due && len(waiting) < 200; n++ {
			m := projectortest.Event(n, n%3).Binary()
			ack, err := js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
			if err != nil {
				return err
			}
			waiting = append(waiting, ack)
		}
		for _, ack := range waiting {
			select {
			case <-ack.Ok():
			case err := <-ack.Err():
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// TestRestoreOfAnEarlierVersion: an earlier version copied fewer tables, and its stream has earlier
// rules. The restore makes the other tables, and the views that a program did not make because a
// restore had not finished.
func TestRestoreOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.describe(func(m map[string]string) { m[streamio.RulesKey] = "4@1" })
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	dir := f.backedUp()
	withoutTables(t, dir, "retold", "prices")
	g := newFixture(t)
	f.must(g.sql.Exec(t.Context(), "DROP VIEW turn_window"))
	want := f.digests()
	delete(want, "checkpoints")
	g.restored(g.restore(dir))
	g.sameTables(want)
	if _, err := backup.Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(g.said(), "4@1 "+newest+"@") {
		t.Errorf("the rules are %q", g.said())
	}
	if pending, err := shadow.Of(g.ledger).Pending(t.Context()); err != nil || len(pending) > 0 {
		t.Errorf("not migrated: %v, %v", pending, err)
	}
	g.publishAll(1000)
	g.must(g.run(g.guarded(new(logbook))))
}

// withoutTables removes tables from a backup.
func withoutTables(t *testing.T, dir string, names ...string) {
	t.Helper()
	m, err := backup.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Tables = slices.DeleteFunc(m.Tables, func(name string) bool { return slices.Contains(names, name) })
	m.Files = slices.DeleteFunc(m.Files, func(f backup.File) bool {
		gone := slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(f.Path, "tables/data/ctxledger/"+name+"/") || f.Path == "tables/metadata/ctxledger/"+name+".sql"
		})
		if gone {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Path)))
		}
		return gone
	})
	text, jsonErr := json.Marshal(m)
	sum := sha256.Sum256(text)
	err = errors.Join(err, jsonErr, os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600),
		os.WriteFile(filepath.Join(dir, "manifest.sha256"), []byte(hex.EncodeToString(sum[:])), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestoreBelowAPublishedHead: no head of the restored log contradicts a head that the first
// installation published after the backup.
func TestRestoreBelowAPublishedHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	dir := f.backedUp()
	f.publishAll(1000)
	f.must(f.run(f.guarded(new(logbook))))
	lost := f.noContradiction(1)
	var note string
	f.must(f.sql.QueryRow(t.Context(), "SELECT note FROM checkpoints FINAL ORDER BY tree_size DESC LIMIT 1").Scan(&note))

	g := newFixture(t)
	r := g.restore(dir)
	r.Published = [][]byte{[]byte(strings.Replace(note, "CTX", "OTHER", 1))}
	if _, err := r.Run(t.Context()); !errors.Is(err, backup.ErrPublished) {
		t.Errorf("a forged head: %v", err)
	}
	r.Published = [][]byte{[]byte(note)}
	g.restored(r)
	g.sent = 5000
	for round := range 4 { // beyond the size of the published head
		g.publishAll(2000 + 1000*round)
		g.must(g.run(g.guarded(new(logbook))))
	}
	stream, incarnation, _ := proof.ParseOrigin(lost.Origin)
	if last := g.noContradiction(2); last.Origin != proof.OriginAfter(stream, incarnation, lost) || last.Size <= lost.Size {
		t.Errorf("the restored log goes on as %+v, after the head %+v", last, lost)
	}
}
