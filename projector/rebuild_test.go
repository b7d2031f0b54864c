package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func (f *fixture) rebuild() rebuild.Rebuild {
	return rebuild.Rebuild{
		JetStream: f.js, Ledger: f.ledger, Timing: quickTiming, BatchMessages: 7, Projector: ForRebuild, Keys: projectortest.Keys(f.t), Ring: testLogRing,
		Log: slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

func (f *fixture) rebuilt(r rebuild.Rebuild) rebuild.Rebuilt {
	f.t.Helper()
	f.flush()
	ctx, cancel := context.WithTimeout(f.t.Context(), 90*time.Second)
	defer cancel()
	done, err := r.Run(ctx)
	if err != nil {
		f.t.Fatalf("%v: %+v", err, done)
	}
	return done
}

// leftovers counts the tables of a rebuild's database.
func (f *fixture) leftovers() uint64 {
	f.t.Helper()
	return f.count("SELECT count() FROM system.tables WHERE database = concat(currentDatabase(), '_rebuild')")
}

// tablesByID distinguishes tables that had the same name.
func (f *fixture) tablesByID() map[string]string {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(), "SELECT name, toString(uuid) FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'")
	f.must(err)
	found := make(map[string]string)
	for rows.Next() {
		var name, id string
		f.must(rows.Scan(&name, &id))
		found[name] = id
	}
	f.must(rows.Err())
	return found
}

// publishAll publishes messages of every kind: events, repeats, conflicts, invalid messages, a
// redaction, withheld values and replays.
func (f *fixture) publishAll(first int) {
	f.t.Helper()
	f.publishMix(first, 30)
	f.publish(projectortest.Redaction(f.t, first, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(first, `{"note":"`+projectortest.Secret+`"}`).Binary())
	replay := projectortest.Event(first+11, 0).Binary()
	replay.Header[quarantine.ReplayHeader] = []string{fmt.Sprintf("%s:%d", f.incarnation(), 12)}
	f.publish(replay)
	f.publish(schema.Message{Subject: "ctx.v1.noise", Data: []byte("no CloudEvent\xff")})
	f.flush()
}

func (f *fixture) incarnation() string {
	f.t.Helper()
	_, id, err := streamio.OpenStream(f.t.Context(), f.js, schema.EventStream)
	f.must(err)
	return id.String()
}

func TestRebuildBesideTheLiveProjector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	f.must(f.stream().DeleteMsg(t.Context(), 5)) // a row that no rebuild has
	f.must(f.sql.Exec(t.Context(), "DELETE FROM events WHERE stream_seq = 5"))
	f.must(f.sql.Exec(t.Context(), "DELETE FROM log_items WHERE stream_seq = 5"))
	f.must(f.sql.Exec(t.Context(), "DELETE FROM duplicates WHERE stream_seq = 5"))
	before := f.tablesByID()
	events := f.count("SELECT count() FROM recorded_events")

	live := f.guarded(new(logbook))
	stop := f.follow(live)
	f.await("it projects", func() bool { return live.Status().Ready })
	// Readers and writers continue during the rebuild.
	reading, done := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	var asked atomic.Uint64
	go func() {
		defer close(failed)
		for reading.Err() == nil {
			var n uint64
			if err := f.sql.QueryRow(t.Context(), "SELECT count() FROM recorded_events").Scan(&n); err != nil || n < events {
				failed <- fmt.Errorf("%d events, %w", n, err)
				return
			}
			asked.Add(1)
		}
	}()
	r := f.rebuild()
	r.Steps = atEach(func(point string) {
		if point == pointProjected || point == pointCompared {
			f.publishMix(2000+f.sent, 15)
		}
	})
	var last atomic.Uint64
	r.Progress = func(done, total uint64) {
		if done > total {
			t.Errorf("%d of %d are done", done, total)
		}
		last.Store(done)
	}
	got := f.rebuilt(r)
	done()
	if err := <-failed; err != nil {
		t.Errorf("a reader got %v", err)
	}
	if !got.Swapped || len(got.Compared.Differences) > 0 || got.Resumed || got.Finished {
		t.Errorf("rebuilt %+v", got)
	}
	if asked.Load() == 0 || last.Load() == 0 {
		t.Errorf("%d questions were answered, progress was at %d", asked.Load(), last.Load())
	}
	for name, id := range f.tablesByID() {
		swapped := !slices.Contains([]string{"migrations", "definitions", "checkpoints", "rechecks", "reintroductions", "prices", "limits"}, name)
		if (before[name] != id) != swapped {
			t.Errorf("%s: swapped is %v", name, before[name] != id)
		}
	}
	if n := f.leftovers(); n > 0 {
		t.Errorf("%d tables are left", n)
	}
	f.publishMix(9000, 30)
	f.awaitLevel() // the live projector has its lease again
	f.must(stop())
	if n := f.count("SELECT count() FROM quarantine WHERE code = 'redaction_reintroduced'"); n != 1 {
		t.Errorf("%d reintroduced values are in quarantine, want 1", n)
	}
	if n := f.count("SELECT count() FROM replays"); n != 1 {
		t.Errorf("%d replays, want 1", n)
	}
	// A second rebuild gives the same tables, without differences.
	again := f.rebuild()
	again.CompareOnly = true
	if got := f.rebuilt(again); got.Swapped || got.Compared.Rows == 0 || f.leftovers() > 0 {
		t.Errorf("compared %+v, %d tables are left", got, f.leftovers())
	}
}

func TestRebuildFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 60)
	f.project()
	f.must(f.sql.Exec(t.Context(), "INSERT INTO events SELECT * REPLACE ('another' AS data) FROM events WHERE stream_seq = 17"))
	f.must(f.sql.Exec(t.Context(), "DELETE FROM log_items WHERE stream_seq IN (3, 4, 6)"))
	compare := f.rebuild()
	compare.CompareOnly = true
	for _, r := range []rebuild.Rebuild{compare, f.rebuild()} {
		got, err := r.Run(t.Context())
		if !errors.Is(err, rebuild.ErrDiffer) || got.Swapped || len(got.Compared.Differences) != 2 {
			t.Fatalf("rebuilt %+v, %v", got, err)
		}
		if d := got.Compared.Differences[0]; d.Table != "events" || d.Differing != 2 || d.StreamSeq != 17 || d.LiveRows != d.RebuiltRows {
			t.Errorf("events differ by %+v", d)
		}
		if d := got.Compared.Differences[1]; d.Table != "log_items" || d.StreamSeq != 3 || d.RebuiltRows != d.LiveRows+d.Differing {
			t.Errorf("log_items differ by %+v", d)
		}
		if left := f.leftovers() > 0; left == r.CompareOnly {
			t.Errorf("the rebuilt tables are left: %v", left)
		}
	}
	f.publishMix(1000, 15)
	accept := f.rebuild()
	accept.Accept = true
	if got := f.rebuilt(accept); !got.Swapped || !got.Resumed || len(got.Compared.Differences) != 2 {
		t.Errorf("rebuilt %+v", got)
	}
	f.project()
	f.exact("")
	f.exact("FINAL")
}

// A stream begins later than the tables. The older rows are kept, also where events
// expired before they were projected. A rebuild then succeeds.
func TestRebuildKeepsWhatTheStreamNoLongerHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 60)
	f.project()
	f.publishMix(1000, 30)
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(71)))
	f.refuses(streamio.ErrEventsExpired, "the stream no longer has sequences 61 to 70")
	f.refuses(streamio.ErrEventsExpired, "`ctxledger rebuild`")
	got := f.rebuilt(f.rebuild())
	if !got.Swapped || got.From[0].First != 71 || len(got.Compared.Differences) > 0 {
		t.Errorf("rebuilt %+v", got)
	}
	if n := f.count("SELECT count() FROM commits WHERE last_seq = 70 AND first_seq = 1 AND messages = 60"); n != 1 {
		t.Errorf("the kept rows have %d commits, want one", n)
	}
	f.publishMix(0, 15) // repeats of kept events
	status := f.project()
	if status.Events > 0 || status.Committed != 105 {
		t.Errorf("projected %+v", status)
	}
	if n := f.count("SELECT uniqExact(stream_seq) FROM (SELECT stream_seq FROM events UNION ALL SELECT stream_seq FROM duplicates UNION ALL SELECT stream_seq FROM quarantine)"); n != 95 {
		t.Errorf("%d messages have an outcome, want 95", n)
	}
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(100)))
	if got := f.rebuilt(f.rebuild()); !got.Swapped || got.From[0].First != 100 {
		t.Errorf("rebuilt %+v", got)
	}
	if got := f.project(); got.Events > 0 {
		t.Errorf("projected %+v", got)
	}
}

// A killed rebuild leaves one complete set of tables. The next projector or rebuild finishes the
// swap. The kills of a chain follow each other on one installation, and the rebuild after each kill
// compares the tables with the stream.
func TestRebuildKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	type kill struct{ point, next string }
	for name, kills := range map[string][]kill{
		"filling":   {{pointMade, "rebuild"}, {pointJournalled, "rebuild"}, {pointWritten, "rebuild"}, {pointCommitted, "projector"}},
		"comparing": {{pointProjected, "rebuild"}, {pointCompared, "rebuild"}, {pointHeld, "projector"}},
		"swapping":  {{"swapping", "projector"}, {"exchanged", "projector"}, {"swapped", "projector"}},
		"swapped":   {{"swapping", "rebuild"}, {"exchanged", "rebuild"}, {"swapped", "rebuild"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishAll(0)
			f.must(f.run(f.guarded(new(logbook))))
			for i, k := range kills {
				f.rebuildKilled(k.point)
				f.publishAll(1000 * (1 + i))
				if k.next == "projector" {
					f.must(f.run(f.guarded(new(logbook))))
					if left := f.leftovers() > 0; left != (k.point != "swapping" && k.point != "exchanged" && k.point != "swapped") {
						t.Errorf("%v: tables are left: %v", k, left)
					}
				}
				got := f.rebuilt(f.rebuild())
				if len(got.Compared.Differences) > 0 || got.Swapped == got.Finished || f.leftovers() > 0 {
					t.Errorf("%v: rebuilt %+v, %d tables are left", k, got, f.leftovers())
				}
				f.must(f.run(f.guarded(new(logbook))))
				if n, want := f.count("SELECT count() FROM events")+f.count("SELECT count() FROM duplicates")+f.count("SELECT count() FROM quarantine"), uint64(34*(2+i)); n != want {
					t.Errorf("%v: %d messages have an outcome without FINAL, want %d", k, n, want)
				}
				if t.Failed() {
					return
				}
			}
			again := f.rebuild()
			again.CompareOnly = true
			f.rebuilt(again)
		})
	}
}

// rebuildKilled rebuilds in a process that kills itself at a point, in its third batch or its third
// exchange where it has several.
func (f *fixture) rebuildKilled(point string) {
	f.t.Helper()
	visit := "1"
	if point == "exchanged" || point == pointJournalled || point == pointWritten || point == pointCommitted {
		visit = "3"
	}
	f.killed(childPoint+"="+point, childVisit+"="+visit, childRebuild+"=1", childKeys+"="+string(projectortest.KeyRing(f.t).Format()))
}

// A projector finishes its current batch before it hands over its lease. The projector does not
// wait for a dead requester.
func TestLeaseHandedOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	live := f.projector()
	stop := f.follow(live)
	f.await("it projects", func() bool { return live.Status().Ready })
	kv, err := f.js.KeyValue(t.Context(), lease.Bucket)
	f.must(err)
	if _, err := kv.Put(t.Context(), lease.KeyOf(schema.EventStream)+lease.RequestSuffix, []byte("nobody")); err != nil {
		t.Fatal(err)
	}
	f.await("it has handed its lease over", func() bool { return !live.Status().Ready })
	f.publishMix(0, 30)
	f.awaitLevel()
	own, held, err := lease.Claim{KV: kv, Key: lease.KeyOf(schema.EventStream), Owner: "a rebuild", Timing: quickTiming, Log: live.config.Log}.Request(t.Context())
	f.must(err)
	f.publishMix(100, 30)
	if n := live.Status().Committed; n != 30 || held.Err() != nil {
		t.Errorf("it has committed up to %d without its lease", n)
	}
	f.must(own.Release(t.Context()))
	f.awaitLevel()
	f.must(stop())
	f.exact("")
	if _, err := kv.Get(t.Context(), lease.KeyOf(schema.EventStream)+lease.RequestSuffix); err == nil {
		t.Error("the request stands")
	}
}

// TestRebuildRefusesReplicas: the refusal comes before anything else. This server has no lease bucket.
func TestRebuildRefusesReplicas(t *testing.T) {
	t.Parallel()
	server := embeddedtest.ClickHouse(t)
	u, err := url.Parse(server.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.OpenReplicas(t.Context(), server.ClickHouseDSN(), 2, u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := (rebuild.Rebuild{JetStream: embeddedtest.NATS(t).JetStream(t), Projector: ForRebuild, Ledger: l}).Run(t.Context()); !errors.Is(err, rebuild.ErrReplicas) {
		t.Error(err)
	}
	shards := &cluster.Ledgers{Membership: cluster.Membership{Shards: []cluster.Shard{{Number: 1, Servers: make([]cluster.Server, 2)}}}}
	if !shards.Replicated() {
		t.Error("a move does not see the replicas")
	}
}
