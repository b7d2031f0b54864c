package projector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// increment is an incremental backup that continues the one in a folder.
func (f *fixture) increment(base string) backup.Create {
	return backup.Create{
		JetStream: f.js, Tables: shardmap.Plain(f.ledger), Target: filepath.Dir(base), Staging: []string{f.servers.BackupsDir()}, Base: base,
		Keys: projectortest.Keys(f.t), Version: "test", Timing: quickTiming,
	}
}

// incremented makes an incremental backup and returns its folder.
func (f *fixture) incremented(base string) string {
	f.t.Helper()
	m, err := f.increment(base).Run(f.t.Context())
	f.must(err)
	if m.Base.Name != filepath.Base(base) || m.Format != 2 {
		f.t.Errorf("the base is %+v in format %d", m.Base, m.Format)
	}
	return filepath.Join(filepath.Dir(base), m.Name)
}

// messages returns the messages of all streams that a backup has, as the server stores them.
func (f *fixture) messages() map[string]string {
	f.t.Helper()
	all := make(map[string]string)
	names := []string{schema.CheckpointStream, schema.LastingStream, schema.QuarantineStream, schema.NoticeStream, streamio.TextsStream}
	n, err := streamio.ReadPartitions(f.t.Context(), f.js)
	f.must(err)
	for _, s := range n.EventStreams() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		stream, err := f.js.Stream(f.t.Context(), name)
		f.must(err)
		info, err := stream.Info(f.t.Context(), jetstream.WithDeletedDetails(true))
		f.must(err)
		all[name] = fmt.Sprintln(info.State.LastSeq, info.Config.Subjects, info.Config.Replicas)
		if info.State.Msgs > 0 {
			all[name] += fmt.Sprintln(info.State.FirstSeq, info.State.Deleted)
		}
		err = streamio.Each(f.t.Context(), stream, streamio.Selection{}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
			all[name] += fmt.Sprintln(meta.Sequence.Stream, meta.Timestamp.UnixNano(), msg.Subject(), msg.Headers(), string(msg.Data()))
			return nil
		})
		f.must(err)
	}
	return all
}

// TestRestoreOfIncrementalBackups: a full backup and two incremental ones give the streams as they were at
// the last one, message by message, and the same tables. Meanwhile one erasure was finished whose fact was
// older than the full backup, another one was made, values were redacted, and a retention removed
// messages, with that fact. Neither erased content comes back.
func TestRestoreOfIncrementalBackups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishSubject()
	stop := f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	early := f.erasure()
	early.Steps = failingAt("delete")
	if _, err := early.Run(t.Context()); !errors.Is(err, errPlanned) {
		t.Fatal("the erasure ended with", err)
	}
	f.awaitLevel()
	f.must(stop())
	committed := f.lastCommit().Last
	f.publishAll(5000) // these are in the stream of the full backup only
	full := f.backedUp()

	stop = f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	_, err := f.erasure().Run(t.Context())
	f.must(err)
	late := f.erasure()
	late.Subject, err = ledger.ParseSubject("user-1")
	f.must(err)
	done, err := late.Run(t.Context())
	f.must(err)
	if done.Events == 0 {
		t.Fatal("nothing was erased after the full backup")
	}
	f.publishAll(6000)
	f.awaitLevel()
	first := f.incremented(full)

	f.must(f.sql.Exec(t.Context(), "INSERT INTO prices (model, bucket, currency, per_million, version) VALUES ('m', 'input', 'USD', 3, 1)"))
	f.publishAll(7000)
	f.awaitLevel()
	f.must(stop())
	if removed := f.retained(retention.Policy{Bytes: 1, AfterBackup: true}); removed.First != committed+1 || removed.Lasting == 0 {
		t.Errorf("the retention removed %+v, want the messages up to %d", removed, committed)
	}
	f.publishAll(8000) // these are in the stream only
	second := f.incremented(first)
	heads, messages := f.headRows(), f.messages()
	f.must(f.run(f.guarded(new(logbook))))
	want := f.digests()
	delete(want, "checkpoints") // the projector has signed more since the backup

	g := newFixture(t)
	r := g.restore(second)
	r.Steps = failingAt("project")
	if _, err := r.Run(t.Context()); !errors.Is(err, errPlanned) {
		t.Fatal("the restore ended with", err)
	}
	for name, text := range g.messages() {
		if text != messages[name] {
			t.Errorf("stream %s was restored as\n%s\nwant\n%s", name, text, messages[name])
		}
	}
	g.restored(g.restore(second))
	g.sameTables(want)
	for _, head := range heads {
		if !slices.Contains(g.headRows(), head) {
			t.Errorf("the head %s is lost", head)
		}
	}
	g.nowhere("", erasedContent, "is none of it")
	for _, x := range []*fixture{f, g} {
		x.sent = 9000
		x.publishAll(9000)
		x.must(x.run(x.guarded(new(logbook))))
	}
	f.sameRoots(g)
	g.noContradiction(1)
	if done := g.restored(g.restore(second)); !done.Finished {
		t.Errorf("the second time: %+v", done)
	}
	again := g.rebuild()
	again.CompareOnly = true
	g.rebuilt(again)

	// A chain with a hole, a changed file or another base.
	target := filepath.Dir(full)
	list, err := backup.List(target)
	if f.must(err); len(list) != 3 || list[2].Base.Name != list[1].Name {
		t.Errorf("listed %+v", list)
	}
	damage := func(what string, want error, harm func(dir string) error) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "damaged")
		f.must(os.CopyFS(dir, os.DirFS(target)))
		f.must(harm(dir))
		last := filepath.Join(dir, filepath.Base(second))
		if _, err := backup.Verify(t.Context(), last, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
		empty := newFixture(t)
		if _, err := empty.restore(last).Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("a restore with %s: %v", what, err)
		}
		if info := empty.stream().CachedInfo(); info.State.Msgs > 0 || len(info.Config.Subjects) == 0 || empty.leftovers() > 0 {
			t.Errorf("a restore with %s has changed the installation", what)
		}
	}
	middle := filepath.Base(first)
	damage("a hole", backup.ErrChain, func(dir string) error { return os.RemoveAll(filepath.Join(dir, middle)) })
	damage("another base", backup.ErrChain, func(dir string) error {
		return errors.Join(os.RemoveAll(filepath.Join(dir, middle)), os.Rename(filepath.Join(dir, filepath.Base(full)), filepath.Join(dir, middle)))
	})
	damage("a missing file", backup.ErrChanged, func(dir string) error {
		return os.Remove(filepath.Join(dir, middle, "streams", "CTX", "stream.arc.s2"))
	})
	f.must(os.RemoveAll(first))
	list, err = backup.List(target)
	if f.must(err); len(list) != 2 || list[0].Err != nil || !errors.Is(list[1].Err, backup.ErrChain) {
		t.Errorf("listed %+v", list)
	}
}

// TestInterruptedIncrementalBackups: an interrupted incremental backup leaves nothing. A restore that is
// interrupted within a stream leaves the stream closed with a part of its messages, and the next restore
// begins it again. A restore that is killed later goes on.
func TestInterruptedIncrementalBackups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	full := f.backedUp()
	f.publishAll(1000)
	// The server receives an archive in pieces of 64 kB.
	for i := range 240 {
		f.publish(projectortest.Foreign(20000+i, fmt.Sprintf(`{"note":%q}`, strings.Join(random(i, 1000), " "))).Binary())
	}
	f.flush()
	interrupted := func(step string, half bool, run func(ctx context.Context, told backup.Progress) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := run(ctx, func(now string, done, total int64) {
			if now == step && (!half || 2*done >= total) {
				cancel()
			}
		})
		if err == nil {
			t.Errorf("%s: the interruption was not noticed", step)
		}
	}
	for _, step := range []string{"copying the tables", "copying stream CTX"} {
		interrupted(step, false, func(ctx context.Context, told backup.Progress) error {
			c := f.increment(full)
			c.Progress = told
			_, err := c.Run(ctx)
			return err
		})
		list, err := backup.List(filepath.Dir(full))
		f.must(err)
		if _, err := os.Stat(filepath.Join(filepath.Dir(full), ".partial")); len(list) != 1 || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: left %+v", step, list)
		}
	}
	dir := f.incremented(full)
	f.must(f.run(f.guarded(new(logbook))))
	want := f.digests()
	delete(want, "checkpoints")

	g := newFixture(t)
	interrupted("restoring stream CTX", true, func(ctx context.Context, told backup.Progress) error {
		r := g.restore(dir)
		r.Progress = told
		_, err := r.Run(ctx)
		return err
	})
	g.await("the server opens a part of the stream", func() bool { // after 5 s without more of it
		_, err := g.js.Publish(t.Context(), "ctx.v1."+schema.EventStream, nil, jetstream.WithRetryAttempts(0))
		return err == nil
	})
	if last, want := g.stream().CachedInfo().State.LastSeq, f.stream().CachedInfo().State.LastSeq; last >= want {
		t.Errorf("the interrupted restore has all messages up to %d", last)
	}
	e := projectortest.Event(1, 0).Binary()
	if _, err := g.js.PublishMsg(t.Context(), &nats.Msg{Subject: e.Subject, Header: nats.Header(e.Header), Data: e.Data}, jetstream.WithRetryAttempts(0)); err == nil {
		t.Error("an event was acknowledged whose sequence belongs to another one")
	}
	g.restored(g.restore(dir))
	g.sameTables(want)
	for _, point := range []string{"restore the tables", "restore the streams", pointCommitted} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			g.killedRestore(dir, point, 1)
			g.restored(g.restore(dir))
			g.sameTables(want)
		})
	}
}

// random returns words that do not compress.
func random(seed, n int) (words []string) {
	x := uint64(seed)*2654435761 + 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		words = append(words, fmt.Sprintf("%016x", x))
	}
	return words
}

// TestIncrementalBackupsThatAreRefused: each refusal names its reason, and leaves nothing.
func TestIncrementalBackupsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	full := f.backedUp()
	refused := func(what string, want error, c backup.Create) {
		t.Helper()
		if _, err := c.Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
		left, err := filepath.Glob(filepath.Join(c.Target, ".partial"))
		if f.must(err); len(left) > 0 {
			t.Errorf("%s: left %q", what, left)
		}
	}
	refused("no base", backup.ErrNoBackup, f.increment(filepath.Join(filepath.Dir(full), "backup-absent")))
	g := newFixture(t)
	refused("another installation", backup.ErrOtherBase, g.increment(full))

	// An older backup was restored, and other events came. The base has the lost ones.
	f.publishAll(1000)
	f.must(f.run(f.guarded(new(logbook))))
	base := f.incremented(full)
	g.restored(g.restore(full))
	g.publishAll(2000)
	refused("an earlier state", backup.ErrOtherBase, g.increment(base))
	g.publishAll(3000)
	g.must(g.run(g.guarded(new(logbook))))
	refused("another history", backup.ErrOtherBase, g.increment(base))
	m, err := backup.ReadManifest(base)
	f.must(err)
	g.must(g.stream().DeleteMsg(t.Context(), m.Streams[1].Last)) // its time cannot be compared any more
	refused("another log", backup.ErrOtherBase, g.increment(base))
	g.incremented(g.incremented(full))

	damaged := filepath.Join(t.TempDir(), filepath.Base(full))
	f.must(os.CopyFS(damaged, os.DirFS(full)))
	f.must(os.WriteFile(filepath.Join(damaged, "manifest.json"), []byte("{}"), 0o600))
	refused("a changed base", backup.ErrChanged, f.increment(damaged))

	// A message leaves that only the stream of the incremental backup has.
	m, err = backup.ReadManifest(full)
	f.must(err)
	f.purge(m.Streams[1].Committed + 1)
	base = f.incremented(base)
	f.purge(m.Streams[1].Committed + 2)
	refused("a purged stream", backup.ErrPurged, f.increment(base))
	again := f.backedUp()
	f.incremented(again)
}

// TestAnIncrementalBackupOfAllStreams: a stream without events that was made again is copied whole.
func TestAnIncrementalBackupOfAllStreams(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	full := f.backedUp()
	stream, err := f.js.Stream(t.Context(), schema.QuarantineStream)
	f.must(err)
	f.must(f.js.DeleteStream(t.Context(), schema.QuarantineStream))
	_, err = f.js.CreateStream(t.Context(), stream.CachedInfo().Config)
	f.must(err)
	f.publishAll(1000)
	f.must(f.run(f.guarded(new(logbook))))
	first := f.incremented(full)
	second := f.incremented(first)
	m, err := backup.ReadManifest(first)
	f.must(err)
	after := make(map[string]bool)
	for _, s := range m.Streams {
		after[s.Name] = s.After > 0
	}
	if !maps.Equal(after, map[string]bool{
		schema.EventStream: true, schema.CheckpointStream: true, schema.LastingStream: false, schema.QuarantineStream: false, schema.NoticeStream: true, streamio.TextsStream: false,
	}) {
		t.Errorf("copied %v", after)
	}
	messages := f.messages()
	g := newFixture(t)
	g.restored(g.restore(second))
	if got := g.messages(); !maps.Equal(got, messages) {
		t.Errorf("restored %v, want %v", got, messages)
	}
}

// TestIncrementalBackupOfTwoStreams: an incremental backup of two streams of events, on one server and on three
// that keep three copies, gives the streams message by message and the same tables, which go on.
func TestIncrementalBackupOfTwoStreams(t *testing.T) {
	t.Parallel()
	const n = schema.Partitions(2)
	const sessions = 6
	servers := map[string]func(t *testing.T) *fixture{
		"one server": func(t *testing.T) *fixture { return newFleetFixture(t, n) },
		"three servers": func(t *testing.T) *fixture {
			needsServers(t)
			cluster := embeddedtest.NewCluster(t, 3, nil)
			if _, err := streamio.Ensure(t.Context(), cluster.JetStream(), streamio.Layout{Partitions: n, Replicas: 3}); err != nil {
				t.Fatal(err)
			}
			return newFixtureOn(t, cluster.URL(), migrated.Installation(t))
		},
	}
	for name, begin := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := begin(t)
			publish := func(f *fixture, first, count int) {
				for s := range sessions {
					f.publishTo(fmt.Sprint("session-", s), first, count)
				}
				f.flush()
			}
			publish(f, 0, 20)
			stop := f.start(f.fleet("live", n))
			f.awaitAll(n)
			full := f.backedUp()
			publish(f, 20, 10)
			f.awaitAll(n)
			f.must(stop())
			last := f.incremented(full)
			messages, want := f.messages(), f.digests()
			delete(want, "checkpoints") // a restore signs heads of its own

			g := begin(t)
			r := g.restore(last)
			r.Steps = failingAt("project")
			if _, err := r.Run(t.Context()); !errors.Is(err, errPlanned) {
				t.Fatal("the restore ended with", err)
			}
			for name, text := range g.messages() {
				if text != messages[name] {
					t.Errorf("stream %s was restored as\n%s\nwant\n%s", name, text, messages[name])
				}
			}
			g.restored(g.restore(last))
			g.sameTables(want)
			publish(g, 30, 10)
			g.start(g.fleet("restored", n))
			g.awaitAll(n)
			g.exactly(sessions, 40)
		})
	}
}
