package projector

import (
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// loseJournal deletes the lease entry.
func (f *fixture) loseJournal() {
	f.t.Helper()
	kv, err := f.js.KeyValue(f.t.Context(), lease.Bucket)
	f.must(err)
	f.must(kv.Delete(f.t.Context(), lease.KeyOf(schema.EventStream)))
}

// Uncommitted rows of deleted messages are removed when their range is written. A message that
// counted as their repeat then becomes the event.
func TestRowsThatTheStreamDoesNotBring(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	for range 3 {
		f.publish(projectortest.Event(500, 0).Binary())
	}
	f.publishMix(100, 20)
	f.project()
	f.exec("DELETE FROM commits WHERE last_seq > 15", "TRUNCATE TABLE checkpoints") // otherwise a head would belong to a removed state of the transparency log
	f.loseJournal()
	for _, seq := range []uint64{21, 30} { // the first of three repeats, and an event without repeats
		f.must(f.stream().DeleteMsg(t.Context(), seq))
	}
	for range 2 {
		f.project()
		f.exact("FINAL")
	}
	f.sameAgain() // now the third repeats the second
	f.logged()    // the second has the place of the first's leaf; later leaves move by one place
}

// The same case, with messages that were recorded in an earlier month than later ones.
func TestRowsOfAnEarlierMonthThatTheStreamDoesNotBring(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.timeless()
	month := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for id := range 25 { // 15 of them in October
		m := projectortest.Event(id, 0).Binary()
		store(m.Subject, m.Header, m.Data, month.Add(time.Duration(id-15)*time.Second))
	}
	p := f.projector()
	p.config.BatchMessages = 10
	f.must(f.run(p))
	f.exec("DELETE FROM commits WHERE last_seq > 10", "TRUNCATE TABLE checkpoints")
	f.loseJournal()
	for seq := uint64(11); seq <= 15; seq++ {
		f.must(f.stream().DeleteMsg(t.Context(), seq))
	}
	f.project()
	f.exact("FINAL")
	f.logged()
}

// A message that a projector deleted for a withheld value keeps its row where commits is older.
// Its range is committed without it: with the journal that names the range, without the
// journal, and with another range.
func TestCommittedAgainAfterADeletion(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(f *fixture){
		"journalled":        func(*fixture) {},
		"journal lost":      (*fixture).loseJournal,
		"journalled longer": func(f *fixture) { f.must(f.stream().DeleteMsg(f.t.Context(), 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
			f.flush()
			f.must(f.run(f.guarded(new(logbook))))
			f.publish(projectortest.Event(1, 0).Binary())
			f.publish(projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary())
			f.publish(projectortest.Event(2, 0).Binary())
			f.flush()
			f.must(f.run(f.guarded(new(logbook))))
			f.must(f.sql.Exec(t.Context(), "DELETE FROM commits WHERE last_seq > 1"))
			harm(f)
			for range 2 {
				f.must(f.run(f.guarded(new(logbook))))
			}
			if n := f.count("SELECT count() FROM quarantine FINAL WHERE stream_seq = 3"); n != 1 {
				t.Errorf("quarantine has %d rows of the message, want 1", n)
			}
			if n := f.count("SELECT count() FROM events FINAL"); n != f.stream().CachedInfo().State.Msgs {
				t.Errorf("%d events, the stream has %d messages", n, f.stream().CachedInfo().State.Msgs)
			}
		})
	}
}

// A table quarantine without its newest rows does not show which messages of the last range
// held a withheld value. The redactions show it.
func TestQuarantineLostBeforeTheDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(schema.Message{Subject: projectortest.Event(0, 0).Binary().Subject, Data: []byte("?")})
	f.publish(projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publishMix(100, 15)
	f.flush()
	p := f.guarded(new(logbook))
	without("delete reintroduced values")(p)
	f.must(f.run(p))
	f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE quarantine"))
	log := new(logbook)
	if err := f.run(f.guarded(log)); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if n := f.count("SELECT count() FROM quarantine WHERE stream_seq <= 3"); n != 2 {
		t.Errorf("quarantine has %d of two rows again", n)
	}
	if _, err := f.stream().GetMsg(t.Context(), 3); err == nil {
		t.Error("the message with the value is still in the stream")
	}
}

// A stream that is created again during recovery counts as another stream, not as one without
// the committed messages.
func TestStreamMadeAnewInRecovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	p := f.projector()
	f.recover(p)
	f.must(f.js.DeleteStream(t.Context(), schema.EventStream))
	if _, err := streamio.EnsureStreams(t.Context(), f.js); err != nil {
		t.Fatal(err)
	}
	if err := p.recovery().verifyAgain(t.Context()); err == nil || !transient(err) {
		t.Errorf("it says %v, want to look again", err)
	}
}
