package projector

import (
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// loseJournal deletes the lease entry.
func (f *fixture) loseJournal() {
	f.t.Helper()
	kv, err := f.js.KeyValue(f.t.Context(), LeaseBucket)
	f.must(err)
	f.must(kv.Delete(f.t.Context(), StreamName))
}

// Rows that were never committed, of messages that the stream no longer has, go when
// their range is written, and what was taken for a repeat of them counts.
func TestRowsThatTheStreamDoesNotBring(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	f.publish(event(500, 0).Binary())
	f.publish(event(500, 0).Binary())
	f.publishMix(100, 20)
	f.project()
	f.must(f.sql.Exec(t.Context(), "DELETE FROM commits WHERE last_seq > 15"))
	f.loseJournal()
	f.must(f.stream().DeleteMsg(t.Context(), 21))
	f.project()
	f.exact("FINAL")
	f.project()
	f.exact("FINAL")
}

// What a projector deleted for its value keeps its row where commits is older than
// it, and its range is committed without it.
func TestCommittedAgainAfterADeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(redaction(t, 1, secret).Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	f.publish(event(1, 0).Binary())
	f.publish(foreign(2, `{"note":"`+secret+`"}`).Binary())
	f.publish(event(2, 0).Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	f.must(f.sql.Exec(t.Context(), "DELETE FROM commits WHERE last_seq > 1"))
	f.loseJournal()
	for range 2 {
		f.must(f.run(f.guarded(new(logbook))))
	}
	if n := f.count("SELECT count() FROM quarantine FINAL WHERE stream_seq = 3"); n != 1 {
		t.Errorf("quarantine has %d rows of the message, want 1", n)
	}
}

// A table quarantine that lost its newest rows does not say which messages of the
// last range held a withheld value. The redactions do.
func TestQuarantineLostBeforeTheDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(redaction(t, 1, secret).Binary())
	f.publish(schema.Message{Subject: event(0, 0).Binary().Subject, Data: []byte("?")})
	f.publish(foreign(2, `{"note":"`+secret+`"}`).Binary())
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

// A stream that is made anew while its projector recovers is another one, and not
// one that has lost what was committed.
func TestStreamMadeAnewInRecovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	p := f.projector()
	f.recover(p)
	f.must(f.js.DeleteStream(t.Context(), StreamName))
	if _, err := EnsureStreams(t.Context(), f.js); err != nil {
		t.Fatal(err)
	}
	if err := p.verifyAgain(t.Context()); err == nil || !transient(err) {
		t.Errorf("it says %v, want to look again", err)
	}
}
