package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

// installation is an installation of the test's own, because a test reads the folder of its ClickHouse.
type installation struct {
	*embeddedtest.Servers
	dir    string
	js     jetstream.JetStream
	ledger *ledger.Ledger
}

func install(t *testing.T) installation {
	t.Helper()
	in := installation{dir: t.TempDir()}
	in.Servers = embeddedtest.Start(t, func(c *embedded.Config) { c.Dir = in.dir })
	in.js = in.JetStream(t)
	var err error
	if in.ledger, err = ledger.Open(t.Context(), in.ClickHouseDSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.ledger.Close() })
	if _, err := shadow.Of(in.ledger).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := streamio.EnsureStreams(t.Context(), in.js); err != nil {
		t.Fatal(err)
	}
	return in
}

func (in installation) create(target string) Create {
	return Create{
		JetStream: in.js, Tables: shardmap.Plain(in.ledger), Target: target, Staging: []string{embedded.BackupsDir(in.dir)}, Version: "test",
		Timing: lease.Timing{Heartbeat: 100 * time.Millisecond, Expiry: 500 * time.Millisecond, Poll: 20 * time.Millisecond},
	}
}

// publish stores messages, and rows for the first of them.
func (in installation) publish(t *testing.T, messages, committed int) uuid.UUID {
	t.Helper()
	for i := range messages {
		if _, err := in.js.Publish(t.Context(), "ctx.v1.acme.runtime.p00.turn.started", fmt.Appendf(nil, "message %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	_, incarnation, err := streamio.OpenStream(t.Context(), in.js, schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	r := ledger.Range{Incarnation: incarnation, First: 1, Last: uint64(committed), Messages: uint64(committed), RecordedAt: time.Now()}
	b := new(ledger.Batch)
	b.Reset(r)
	if err := in.ledger.Commit(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	return incarnation
}

func TestABackupHoldsBothSides(t *testing.T) {
	t.Parallel()
	in, target := install(t), t.TempDir()
	incarnation := in.publish(t, 20, 12)
	// A killed backup leaves these folders.
	for _, left := range []string{filepath.Join(target, partialFolder, "x"), filepath.Join(embedded.BackupsDir(in.dir), staged(in.ledger)+"old", "x")} {
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	told := make(map[string]bool)
	c := in.create(target)
	c.Progress = func(step string, _, _ int64) {
		mu.Lock()
		defer mu.Unlock()
		told[step] = true
	}
	made, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := List(target)
	if err != nil || len(list) != 1 || list[0].Err != nil || list[0].Name != made.Name {
		t.Fatalf("listed %+v, %v", list, err)
	}
	m, err := Verify(t.Context(), list[0].Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(m.Streams, func(s Stream) bool { return s.Name == schema.EventStream })
	if at < 0 || m.Streams[at].Incarnation != incarnation || m.Streams[at].Committed != 12 || m.Streams[at].Last != 20 || m.Streams[at].Messages != 20 {
		t.Errorf("streams: %+v", m.Streams)
	}
	if m.Streams[0].Name != schema.CheckpointStream || len(m.Tables) != 24 || m.Keys != "left out" {
		t.Errorf("manifest: %+v", m)
	}
	for _, step := range []string{"copying the tables", "copying stream CTX", hashing} {
		if !told[step] {
			t.Errorf("no progress of %q", step)
		}
	}
	left, err := filepath.Glob(filepath.Join(embedded.BackupsDir(in.dir), "*"))
	if err != nil || len(left) > 0 || exists(filepath.Join(target, partialFolder)) {
		t.Errorf("left over: %v, %v", left, err)
	}

	// Each kind of damage is named.
	commits := filepath.Join(list[0].Dir, tablesFolder, "metadata", "ctxledger", "commits.sql")
	text, err := os.ReadFile(commits)
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func() error{
		"commits.sql is changed": func() error { return os.WriteFile(commits, append([]byte("x"), text[1:]...), 0o600) },
		"commits.sql is missing": func() error { return os.Remove(commits) },
		"is not in the manifest": func() error { return os.WriteFile(commits+".more", nil, 0o600) },
	}
	for says, harm := range damage {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), list[0].Dir, nil); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		_ = os.Remove(commits + ".more")
		if err := os.WriteFile(commits, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(t.Context(), list[0].Dir, nil); err != nil {
		t.Errorf("after the damage was repaired: %v", err)
	}
}

func TestManifestsThatAreNotRead(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, m Manifest) string {
		dir := t.TempDir()
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	later := write(t, Manifest{Format: Format + 1})
	if _, err := ReadManifest(later); !errors.Is(err, ErrLater) {
		t.Errorf("later: %v", err)
	}
	if _, err := ReadManifest(t.TempDir()); !errors.Is(err, ErrNoBackup) {
		t.Errorf("empty: %v", err)
	}
	changed := write(t, Manifest{Format: Format})
	if err := os.WriteFile(filepath.Join(changed, manifestFile), []byte(`{"format":1,"name":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(changed); !errors.Is(err, ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	if _, err := List(filepath.Join(t.TempDir(), "absent")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("absent: %v", err)
	}
}

// FuzzManifest: hostile manifests give an error and no panic.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{"", "{}", `{"format":1}`, `{"format":2}`, `{"format":1,"files":[{"path":"../x"}]}`, "[]", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir, nil); err == nil {
			t.Error("a manifest without a digest was accepted")
		}
	})
}

func TestOneBackupAtATime(t *testing.T) {
	t.Parallel()
	in, target := install(t), t.TempDir()
	in.publish(t, 2, 2)
	kv, err := lease.OpenBucket(t.Context(), in.js)
	if err != nil {
		t.Fatal(err)
	}
	c := in.create(target)
	other, _, err := lease.Claim{KV: kv, Key: lease.BackupKey, Owner: "other", Timing: c.Timing, Log: slog.New(slog.DiscardHandler)}.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("next to another backup: %v", err)
	}
	if err := other.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := List(target); err != nil || len(list) > 0 {
		t.Errorf("listed %v, %v", list, err)
	}
	for range 2 { // two in the same second have two names
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := List(target); err != nil || len(list) != 2 {
		t.Errorf("listed %v, %v", list, err)
	}
	// So have two in a store, where the folder of work does not tell the names.
	store := &memory{taken: 2}
	c.Store, c.Target = store, t.TempDir()
	m, err := c.Run(t.Context())
	if err != nil || len(store.asked) != 3 || m.Name != store.asked[0]+"-3" || store.got.Name != m.Name {
		t.Errorf("the store was asked for %q and got %q: %v, %v", store.asked, store.got.Name, m.Name, err)
	}
	c.Store, c.Staging = nil, []string{filepath.Join(in.dir, "absent")}
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrStaging) {
		t.Errorf("without the folder of ClickHouse: %v", err)
	}
}

// memory is a store that has backups of the first names that it is asked for.
type memory struct {
	taken int
	asked []string
	got   Manifest
}

func (s *memory) Has(_ context.Context, name string) (bool, error) {
	s.asked = append(s.asked, name)
	return len(s.asked) <= s.taken, nil
}

func (s *memory) Put(_ context.Context, dir string) (err error) {
	s.got, err = ReadManifest(dir)
	return err
}

// TestInterruptedBackupLeavesNothing interrupts backups at each step.
func TestInterruptedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	in, target := install(t), t.TempDir()
	in.publish(t, 50, 50)
	for _, step := range []string{"copying the tables", "copying stream CTX", hashing} {
		ctx, cancel := context.WithCancel(t.Context())
		c := in.create(target)
		c.Progress = func(now string, _, _ int64) {
			if now == step {
				cancel()
			}
		}
		if _, err := c.Run(ctx); err == nil {
			t.Errorf("%s: the interruption was not noticed", step)
		}
		cancel()
		if list, err := List(target); err != nil || len(list) > 0 || exists(filepath.Join(target, partialFolder)) {
			t.Errorf("%s: left %v, %v", step, list, err)
		}
	}
	if _, err := in.create(target).Run(t.Context()); err != nil {
		t.Errorf("after interruptions: %v", err)
	}
}

// TestTheCopyHasEveryTable: the statement that copies the tables names each of them.
func TestTheCopyHasEveryTable(t *testing.T) {
	t.Parallel()
	in, target := install(t), t.TempDir()
	m, err := in.create(target).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := in.ledger.SQL(nil).Conn.QueryRow(t.Context(), "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'").Scan(&names); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if !slices.Equal(names, m.Tables) {
		t.Errorf("the manifest names %q, want %q", m.Tables, names)
	}
	for _, name := range names {
		if !exists(filepath.Join(target, m.Name, tablesFolder, "metadata", "ctxledger", name+".sql")) {
			t.Errorf("the copy lacks table %s", name)
		}
	}
}

func TestAFullTarget(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.publish(t, 2, 2)
	target := embeddedtest.SmallDisk(t, 8)
	if _, err := in.create(target).Run(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("onto a full target: %v", err)
	}
	if list, err := List(target); err != nil || len(list) > 0 || exists(filepath.Join(target, partialFolder)) {
		t.Errorf("left %v, %v", list, err)
	}
	if err := withoutRoom(ErrFull, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// TestBasesThatAreRefused: a base of other columns or of an older server, and a full target. Nothing is left.
func TestBasesThatAreRefused(t *testing.T) {
	t.Parallel()
	in, target := install(t), t.TempDir()
	in.publish(t, 20, 12)
	full, err := in.create(target).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(target, full.Name)
	refused := func(want error, target string, change func(*Manifest)) {
		t.Helper()
		m := full
		m.Files = slices.Clone(full.Files)
		change(&m)
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
		c := in.create(target)
		c.Base = dir
		if _, err := c.Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v instead of %v", err, want)
		}
		if exists(filepath.Join(target, partialFolder)) {
			t.Errorf("%v: something is left", want)
		}
	}
	refused(ErrUpgraded, target, func(m *Manifest) { m.Migration = "0001_earlier" })
	refused(ErrFormat, target, func(m *Manifest) {
		at := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == "streams/CTX/stream.arc.s2" })
		m.Files[at].Path = "streams/CTX/stream.tar.s2"
	})
	refused(ErrLater, target, func(m *Manifest) { m.Format = Format + 1 })
	refused(ErrChanged, target, func(m *Manifest) { m.Base = Base{Name: "../" + full.Name, SHA256: "x"} })
	small := embeddedtest.SmallDisk(t, 8)
	if err := os.WriteFile(filepath.Join(small, "other"), make([]byte, 32<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the small disk is not full: %v", err)
	}
	refused(ErrFull, small, func(*Manifest) {})
	c := in.create(target)
	c.Base = dir
	if _, err := c.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFits: a backup goes to shards with the same numbers.
func TestFits(t *testing.T) {
	t.Parallel()
	plain := []part{{}}
	shards := func(numbers ...uint32) (list []Shard) {
		for _, n := range numbers {
			list = append(list, Shard{Number: n})
		}
		return list
	}
	two := []part{{Part: shardmap.Part{Number: 1}}, {Part: shardmap.Part{Number: 2}}}
	for _, c := range []struct {
		of    []Shard
		parts []part
		says  string
	}{
		{nil, plain, ""}, {shards(1, 2), two, ""},
		{nil, two, "one machine to one machine"},
		{shards(1, 2), plain, "a cluster with the shards [1 2]"},
		{shards(1, 2, 3), two, "of the shards [1 2 3], and the cluster has the shards [1 2]"},
		{shards(1, 3), two, "of the shards [1 3], and the cluster has the shards [1 2]"},
	} {
		switch err := fits(Manifest{Shards: c.of}, c.parts); {
		case c.says == "" && err != nil, c.says != "" && (!errors.Is(err, ErrShards) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("a backup of %v to %v: %v", c.of, shardsOf(c.parts, nil), err)
		}
	}
}
