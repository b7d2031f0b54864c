package projector

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func (f *fixture) leases() jetstream.KeyValue {
	f.t.Helper()
	kv, err := lease.OpenBucket(f.t.Context(), f.js)
	f.must(err)
	return kv
}

func (f *fixture) retention() retention.Pass {
	return retention.Pass{
		JetStream: f.js, Tables: shardmap.Plain(f.ledger), Owner: "test", Timing: quickTiming,
		Log: slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

// retained applies a policy once.
func (f *fixture) retained(p retention.Policy) retention.Removed {
	f.t.Helper()
	f.must(retention.WritePolicy(f.t.Context(), f.leases(), p))
	done, err := f.retention().Run(f.t.Context())
	f.must(err)
	if len(done.Streams) != 1 {
		f.t.Fatalf("removed from %d streams", len(done.Streams))
	}
	return done.Streams[0]
}

func (f *fixture) lastCommit() ledger.Range {
	f.t.Helper()
	source, err := streamio.OpenSource(f.t.Context(), f.js, schema.EventStream, f.ledger, slog.New(slog.DiscardHandler))
	f.must(err)
	last, _, err := f.ledger.LastCommit(f.t.Context(), source.Incarnation)
	f.must(err)
	return last
}

// loseTables empties every table that the projector fills, as after the loss of ClickHouse.
func (f *fixture) loseTables() {
	f.t.Helper()
	for _, table := range append(ledger.Tables(), "commits", "retold", "checkpoints", "reintroductions", "rechecks") {
		f.must(f.sql.Exec(f.t.Context(), "TRUNCATE TABLE "+table))
	}
}

const refusals = "SELECT uniqExact(stream_seq) FROM quarantine WHERE code = 'redaction_reintroduced'"

// everything is a policy that lets go whatever nothing else needs.
var everything = retention.Policy{Bytes: 1}

// TestRetention: the messages leave the stream, their rows stay, repeats count once, and a withheld
// value is refused, also after the loss of the tables.
func TestRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.publishAll(1000)
	f.must(f.run(f.guarded(new(logbook))))
	rows, events := f.digests(), f.count("SELECT uniqExact(source, event_id) FROM events")
	last := f.lastCommit()
	done := f.retained(everything)
	if done.Lasting != 1 || done.Messages == 0 || done.First != last.First || done.Kept != retention.ByCommit {
		t.Errorf("removed %+v, want all but the last commit, from %d on", done, last.First)
	}
	if again := f.retained(everything); again.Messages != 0 || again.Lasting != 0 {
		t.Errorf("the second pass removed %+v", again)
	}
	f.must(f.run(f.guarded(new(logbook))))
	f.sameTables(rows)

	f.publishMix(0, 30) // events whose messages are gone
	f.publish(projectortest.Foreign(2000, `{"note":"`+projectortest.Secret+`"}`).Binary())
	refused := f.count(refusals)
	f.must(f.run(f.guarded(new(logbook))))
	if n := f.count("SELECT uniqExact(source, event_id) FROM events"); n != events {
		t.Errorf("%d events after they were published again, want %d", n, events)
	}
	if n := f.count(refusals); n != refused+1 {
		t.Errorf("%d refused values, want %d", n, refused+1)
	}
	if done := f.rebuilt(f.rebuild()); !done.Swapped || done.From[0].First < last.First {
		t.Errorf("rebuilt %+v", done)
	}

	f.retained(everything)
	f.loseTables()
	f.publish(projectortest.Foreign(3000, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.must(f.run(f.guarded(new(logbook))))
	if n := f.count("SELECT uniqExact(record_id) FROM redactions"); n != 2 {
		t.Errorf("%d redactions after the loss of the tables, want 2", n)
	}
	if n := f.count("SELECT count() FROM events WHERE position(data, '" + projectortest.Secret + "') > 0"); n != 0 {
		t.Errorf("%d events hold the withheld value", n)
	}
	if n := f.count(refusals + " AND event_id = 'event-3000'"); n > 1 {
		t.Errorf("the value was refused %d times", n)
	}
	f.exactRest()
	again := f.rebuild()
	again.Accept = true // a rebuild quarantines refused messages again from their copies, which a projector leaves alone
	if done := f.rebuilt(again); !done.Swapped || slices.ContainsFunc(done.Compared.Differences, func(d shadow.TableDifference) bool { return d.Table != "quarantine" }) {
		t.Errorf("rebuilt after the loss: %+v", done)
	}
	f.exactRest()
}

// TestRetentionOfAWholeStream: the last commit has only a message that was deleted. What was removed does
// not come back, as it did where the server was asked for a purge up to that message.
func TestRetentionOfAWholeStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	f.must(f.run(f.guarded(new(logbook))))
	f.publish(projectortest.Foreign(2000, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.must(f.run(f.guarded(new(logbook))))
	info, err := f.stream().Info(t.Context())
	f.must(err)
	if last := f.lastCommit(); last.First != info.State.LastSeq || info.State.NumDeleted != 2 {
		t.Fatalf("the last commit begins with %d, the stream has %+v", last.First, info.State)
	}
	done := f.retained(everything)
	info, err = f.stream().Info(t.Context())
	f.must(err)
	if info.State.Msgs != 0 || done.Messages == 0 {
		t.Errorf("removed %+v, and the stream has %+v", done, info.State)
	}
	f.loseTables()
	f.publishMix(100, 30)
	f.must(f.run(f.guarded(new(logbook))))
	f.exactRest()
}

// exactRest checks that the tables have each message of the stream once, and the facts that never expire.
func (f *fixture) exactRest() {
	f.t.Helper()
	info, err := f.stream().Info(f.t.Context())
	f.must(err)
	lasting, err := f.js.Stream(f.t.Context(), schema.LastingStream)
	f.must(err)
	const places = "(SELECT incarnation, stream_seq FROM events UNION ALL SELECT incarnation, stream_seq FROM duplicates UNION ALL SELECT incarnation, stream_seq FROM quarantine WHERE code != 'redaction_reintroduced')"
	want := info.State.Msgs + lasting.CachedInfo().State.Msgs
	if n, rows := f.count("SELECT uniqExact(incarnation, stream_seq) FROM "+places), f.count("SELECT count() FROM "+places); n != want || rows != want {
		f.t.Errorf("the tables have %d messages in %d rows, want %d", n, rows, want)
	}
}

// TestRetentionKilledAtEveryPoint: the loss of the tables follows, and a projector that begins with the
// facts that never expire is killed, too.
func TestRetentionKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []string{pointBuilt, pointJournalled, pointWritten, pointCommitted} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			const redactions = 50 // more than two batches
			for i := range redactions {
				f.publish(projectortest.Redaction(t, i, fmt.Sprint("a secret of tests ", i)).Binary())
			}
			f.publishMix(1000, 60)
			f.must(f.run(f.guarded(new(logbook))))
			cut := f.retention()
			cut.Steps = failingAt("remove") // the facts are copied, the messages stay
			f.must(retention.WritePolicy(t.Context(), f.leases(), everything))
			if _, err := cut.Run(t.Context()); !errors.Is(err, errPlanned) {
				t.Fatal("the pass ended with", err)
			}
			if done := f.retained(everything); done.Lasting != redactions || done.Messages == 0 {
				t.Errorf("removed %+v, with %d facts", done, redactions)
			}
			f.loseTables()
			rings, err := projectortest.Keys(t)()
			f.must(err)
			for visit := 1; visit <= 2; visit++ {
				f.killed(childPoint+"="+point, fmt.Sprint(childVisit, "=", visit), childKeys+"="+string(rings[0].Format()))
			}
			f.publishMix(9000, 30)
			f.must(f.run(f.guarded(new(logbook))))
			if n := f.count("SELECT uniqExact(record_id) FROM redactions"); n != redactions {
				t.Errorf("%d redactions, want %d", n, redactions)
			}
			f.exactRest()
		})
	}
}

// TestRetentionWaits: a message stays until a commit, a signed head and a backup have it, and while a
// backup or a rebuild needs it.
func TestRetentionWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAll(0)
	if done := f.retained(everything); done.Messages != 0 || done.Kept != retention.ByCommit {
		t.Errorf("without a commit: %+v", done)
	}
	f.must(f.run(f.guarded(new(logbook))))
	f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE checkpoints"))
	if done := f.retained(everything); done.Messages != 0 || done.Kept != retention.ByHead {
		t.Errorf("without a signed head: %+v", done)
	}
	f.publishAll(1000)
	f.must(f.run(f.guarded(new(logbook))))
	careful := retention.Policy{Bytes: 1, AfterBackup: true}
	if done := f.retained(careful); done.Messages != 0 || done.Kept != retention.ByBackup {
		t.Errorf("without a backup: %+v", done)
	}
	f.backedUp()
	through := f.lastCommit().Last
	f.publishAll(2000)
	f.publishAll(3000)
	f.must(f.run(f.guarded(new(logbook))))
	if done := f.retained(careful); done.Through != through || done.First != through+1 || done.Kept != retention.ByBackup {
		t.Errorf("after a backup through %d: %+v", through, done)
	}
	// A backup that was killed holds its lease until the lease expires.
	_, err := f.leases().Put(t.Context(), lease.BackupKey, []byte(`{"epoch":9,"owner":"killed","holder":"killed"}`))
	f.must(err)
	if _, err := f.retention().Run(t.Context()); err != nil {
		t.Errorf("after a killed backup: %v", err)
	}
	for _, key := range []string{lease.BackupKey, lease.RebuildKey} {
		own, _, err := lease.Claim{KV: f.leases(), Key: key, Owner: "other", Timing: quickTiming, Log: slog.New(slog.DiscardHandler)}.Acquire(t.Context())
		f.must(err)
		if _, err := f.retention().Run(t.Context()); !errors.Is(err, retention.ErrBusy) {
			t.Errorf("during a %s: %v", key, err)
		}
		f.must(own.Release(t.Context()))
	}
	if done := f.retained(everything); done.First <= through+1 {
		t.Errorf("without a condition: %+v", done)
	}
}

// TestRetentionByAgeAndBytes: only the messages beyond the limits leave.
func TestRetentionByAgeAndBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 200)
	f.must(f.run(f.guarded(new(logbook))))
	before, err := f.stream().Info(t.Context())
	f.must(err)
	limit := before.State.Bytes / 2
	done := f.retained(retention.Policy{Bytes: limit})
	after, err := f.stream().Info(t.Context())
	f.must(err)
	if message := before.State.Bytes / before.State.Msgs; after.State.Bytes > limit || after.State.Bytes < limit-2*message || done.Kept != retention.ByPolicy {
		t.Errorf("%d of %d bytes are left, want at most %d: %+v", after.State.Bytes, before.State.Bytes, limit, done)
	}
	f.must(retention.WritePolicy(t.Context(), f.leases(), retention.Policy{AgeSeconds: 3600}))
	if done, err := f.retention().Run(t.Context()); err != nil || done.Streams[0].Messages != 0 {
		t.Errorf("of messages of this minute, an age of an hour removed %+v, %v", done, err)
	}
	time.Sleep(time.Second)
	f.publishMix(1000, 40)
	f.must(f.run(f.guarded(new(logbook))))
	// A policy of an age that no command accepts.
	_, err = f.leases().Put(t.Context(), "retention.policy", []byte(`{"age_seconds":1,"bytes":0,"after_backup":false}`))
	f.must(err)
	aged, err := f.retention().Run(t.Context())
	f.must(err)
	if first := aged.Streams[0].First; first <= before.State.LastSeq {
		t.Errorf("the stream begins at %d, want more than %d: %+v", first, before.State.LastSeq, aged)
	}
	if err := retention.WritePolicy(t.Context(), f.leases(), retention.Policy{AgeSeconds: 60}); !errors.Is(err, retention.ErrPolicy) {
		t.Errorf("an age below the duplicate window: %v", err)
	}
}

// TestRetentionOfContent: the data of old events leaves the tables, for the tenants and the facts of
// the policy, and only where the message has left the stream. All else stays.
func TestRetentionOfContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	publish := func(first int) {
		f.publishAll(first)
		for i := range 20 {
			e := projectortest.Event(first+500+i, 0)
			e.Tenant = "beta"
			f.publish(e.Binary())
		}
	}
	publish(0)
	publish(1000)
	f.must(f.run(f.guarded(new(logbook))))
	rows, events := f.digests(), f.count("SELECT uniqExact(source, event_id) FROM events")
	delete(rows, "events")
	delete(rows, "quarantine")
	time.Sleep(2 * time.Second)
	_, err := f.leases().Put(t.Context(), "retention.policy", []byte(`{"age_seconds":1,"bytes":0,"after_backup":false,"content_age_seconds":1,"tenant_content_age_seconds":{"beta":0}}`))
	f.must(err)
	done, err := f.retention().Run(t.Context())
	f.must(err)
	const empty = "SELECT count() FROM events WHERE data = ''"
	old := fmt.Sprintf("tenant != 'beta' AND event_type != 'context.redaction.applied' AND stream_seq < %d", done.Streams[0].First)
	want := f.count("SELECT count() FROM events WHERE " + old)
	if n := f.count(empty + " AND " + old); n != want || want == 0 || done.Emptied != want || f.count(empty) != want {
		t.Errorf("%d events are empty, %d of them rightly, want %d: %+v", f.count(empty), n, want, done)
	}
	f.sameTables(rows)
	const left = "SELECT count() FROM quarantine WHERE data = '' AND header = ''"
	old = fmt.Sprintf("tenant != 'beta' AND stream_seq < %d", done.Streams[0].First)
	want = f.count("SELECT count() FROM quarantine WHERE " + old)
	if n := f.count(left + " AND reason != '' AND " + old); n != want || want == 0 || done.EmptiedRefused != want || f.count(left) != want {
		t.Errorf("%d messages in quarantine are empty, %d of them rightly, want %d: %+v", f.count(left), n, want, done)
	}
	if again, err := f.retention().Run(t.Context()); err != nil || again.Emptied+again.EmptiedRefused != 0 {
		t.Errorf("the second pass: %+v, %v", again, err)
	}
	if err := read.Of(f.ledger).Refusals(t.Context(), read.RefusalFilter{Last: done.Streams[0].First - 1}, func(r ledger.Refusal) error {
		if _, err := quarantine.Replay(t.Context(), f.js, r); !errors.Is(err, quarantine.ErrEmpty) {
			t.Errorf("a replay of %s at %d: %v", r.Code, r.StreamSeq, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	again := f.rebuild()
	again.CompareOnly = true
	f.rebuilt(again)
	publish(0)
	f.must(f.run(f.guarded(new(logbook))))
	if n := f.count("SELECT uniqExact(source, event_id) FROM events"); n != events {
		t.Errorf("%d events after they were published again, want %d", n, events)
	}
	for _, p := range []retention.Policy{
		{Bytes: 1, ContentAgeSeconds: 3600}, {AgeSeconds: 7200, ContentAgeSeconds: 3600}, {AgeSeconds: 7200, TenantContent: map[string]int64{"acme": 60}}, {AgeSeconds: 7200, ContentAgeSeconds: -1},
	} {
		if err := retention.WritePolicy(t.Context(), f.leases(), p); !errors.Is(err, retention.ErrPolicy) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestRetentionUnderLoad: passes run while events are published and the projector is killed. At the end
// the stream is within its limit, the tables have every event once, and retries count once.
func TestRetentionUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const rounds, each, limit = 9, 300, 200_000
	f.must(retention.WritePolicy(t.Context(), f.leases(), retention.Policy{Bytes: limit}))
	var removed uint64
	pass := func() {
		t.Helper()
		done, err := f.retention().Run(t.Context())
		if errors.Is(err, retention.ErrBusy) {
			return
		}
		f.must(err)
		removed += done.Streams[0].Messages
	}
	publish := func(round int) {
		for i := range each {
			f.publish(projectortest.Event(10_000*round+i, 0).Binary())
		}
		f.flush()
	}
	for round := range rounds {
		publish(round)
		if round%3 == 2 {
			f.killed(childPoint+"="+pointWritten, fmt.Sprint(childVisit, "=", 1+round))
			pass()
		}
		f.project()
		pass()
	}
	info, err := f.stream().Info(t.Context())
	f.must(err)
	if info.State.Bytes > limit || removed < info.State.Msgs || removed+info.State.Msgs != rounds*each {
		t.Errorf("the stream has %d bytes in %d messages, of at most %d; %d were removed", info.State.Bytes, info.State.Msgs, limit, removed)
	}
	publish(0)
	f.project()
	if n, repeats := f.count("SELECT count() FROM events"), f.count("SELECT count() FROM duplicates"); n != rounds*each || repeats != each {
		t.Errorf("%d events and %d repeats, want %d and %d", n, repeats, rounds*each, each)
	}
	again := f.rebuild()
	again.CompareOnly = true
	f.rebuilt(again)
	f.logged()
}
