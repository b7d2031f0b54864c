package projector

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func (f *fixture) stream() jetstream.Stream {
	f.t.Helper()
	s, err := f.js.Stream(f.t.Context(), schema.EventStream)
	f.must(err)
	return s
}

// renew replaces the stream by an empty one. keep sets whether the new stream keeps the
// incarnation, like a restored copy.
func (f *fixture) renew(keep bool) {
	f.t.Helper()
	config := f.stream().CachedInfo().Config
	f.must(f.js.DeleteStream(f.t.Context(), schema.EventStream))
	if !keep {
		config.Metadata[streamio.IncarnationKey] = uuid.NewString()
	}
	// The server refuses while it removes the files of the old stream.
	var err error
	for range 100 {
		if _, err = f.js.CreateStream(f.t.Context(), config); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.must(err)
}

func (f *fixture) refuses(want error, says string) {
	f.t.Helper()
	before := f.count("SELECT count() FROM events")
	err := f.run(f.projector())
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		f.t.Errorf("ended with %v, want %v that says %q", err, want, says)
	}
	if after := f.count("SELECT count() FROM events"); after != before {
		f.t.Errorf("%d events became %d", before, after)
	}
}

func TestStreamOfAnotherIncarnation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 30 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	f.project()
	f.renew(false)
	for id := range 40 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	if got := f.project(); got.Events != 10 || got.Duplicates != 30 || got.Committed != 40 {
		t.Errorf("projected %+v of the new stream", got)
	}
	if events, items := f.count("SELECT count() FROM events"), f.count("SELECT count() FROM log_items"); events != 40 || items != 40 {
		t.Errorf("%d events and %d items, want 40", events, items)
	}
}

// The same case with a running projector, which must not continue at its old place.
func TestStreamRecreatedUnderTheProjector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 30 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	stop := f.follow(f.projector())
	f.awaitLevel()
	f.renew(false)
	for id := range 50 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	f.awaitLevel()
	f.must(stop())
	if events, duplicates := f.count("SELECT count() FROM events"), f.count("SELECT count() FROM duplicates"); events != 50 || duplicates != 30 {
		t.Errorf("%d events and %d duplicates, want 50 and 30", events, duplicates)
	}
}

// Uncommitted rows of a former stream must not prevent the same events from the new stream.
func TestPendingOfAnotherIncarnation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.crash(pointWritten, 2)                                                       // 20 committed, 10 written
	f.must(f.sql.Exec(t.Context(), "DELETE FROM log_items WHERE stream_seq > 20")) // as if it had not reached this table
	f.renew(false)
	for id := range 30 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	f.project()
	if n := f.count("SELECT uniqExact(event_id) FROM events"); n != f.count("SELECT count() FROM events") || n != 30 {
		t.Errorf("%d events by id, %d rows, want 30", n, f.count("SELECT count() FROM events"))
	}
	if n := f.count("SELECT count() FROM events e LEFT ANTI JOIN log_items i ON e.event_id = i.event_id WHERE e.event_type = 'context.log.appended'"); n != 0 {
		t.Errorf("%d events have no typed row", n)
	}
}

// A committed journal entry of the old stream removes nothing.
func TestPendingOfAnotherIncarnationThatWasCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	f.crash(pointCommitted, 1)
	before := f.count("SELECT count() FROM events")
	f.renew(false)
	f.project()
	if after := f.count("SELECT count() FROM events"); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}

func TestStreamTruncated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	f.renew(true)
	f.publishMix(0, 10)
	f.refuses(streamio.ErrStreamForked, "it ends at 10, before the last commit at 30")
	if level, err := streamio.ReadLevel(t.Context(), f.js, f.ledger, schema.EventStream); !errors.Is(err, streamio.ErrStreamForked) {
		t.Errorf("the level is %+v, %v", level, err)
	}
}

func TestStreamWithOtherContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	f.renew(true)
	f.publishMix(100, 40)
	f.refuses(streamio.ErrStreamForked, "sequences 21 to 30 differ from the committed ones")
	// Deleted messages do not hide changes of the other messages, which are events, repeats or
	// refused.
	for _, seq := range []uint64{22, 21, 24, 26, 28, 29, 30, 23, 25} {
		f.must(f.stream().DeleteMsg(t.Context(), seq))
		f.refuses(streamio.ErrStreamForked, "sequences 21 to 30 differ from the committed ones")
	}
}

// A limit that removed the beginning of the last committed range does not hide them either.
func TestStreamWithOtherContentAndAnExpiredBeginning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	f.renew(true)
	f.publishMix(100, 40)
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(26)))
	f.refuses(streamio.ErrStreamForked, "sequences 21 to 30 differ from the committed ones")
}

func TestDeletedMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 75)
	for _, seq := range []uint64{1, 20, 21, 22, 33, 60, 74, 75} { // with ends and beginnings of batches
		f.must(f.stream().DeleteMsg(t.Context(), seq))
	}
	if got := f.project(); got.Committed != 73 {
		t.Errorf("projected %+v", got)
	}
	f.exact("")
	if level, err := streamio.ReadLevel(t.Context(), f.js, f.ledger, schema.EventStream); err != nil || level.Behind() != 0 {
		t.Errorf("level %+v, %v: nothing is left to project", level, err)
	}
	// The same after they were committed, and for the whole last range.
	messages := f.count("SELECT count() FROM events")
	for seq := uint64(65); seq <= 73; seq++ {
		if seq != 72 {
			_ = f.stream().DeleteMsg(t.Context(), seq)
		}
	}
	f.project()
	_ = f.stream().DeleteMsg(t.Context(), 72)
	f.project()
	for id := range 25 {
		f.publish(projectortest.Event(500+id, 0).Binary())
	}
	f.project()
	if n := f.count("SELECT count() FROM events"); n != messages+25 {
		t.Errorf("%d events, want %d", n, messages+25)
	}
}

// A message that is deleted from a journalled range changes the range.
func TestDeletedFromAJournalledRange(t *testing.T) {
	t.Parallel()
	for _, seq := range []uint64{21, 40} {
		f := newFixture(t)
		f.publishMix(0, 60)
		f.crash(pointWritten, 2)
		f.must(f.stream().DeleteMsg(t.Context(), seq))
		f.project()
		f.exact("")
	}
}

// The second batch begins at 26, three after the end of the first.
func TestJournalledRangeAfterAGap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 60)
	for _, seq := range []uint64{1, 2, 23, 24, 25} {
		f.must(f.stream().DeleteMsg(t.Context(), seq))
	}
	f.crash(pointWritten, 2)
	p := f.projector()
	p.config.BatchMessages = 7 // another cut would leave rows twice
	f.must(f.run(p))
	f.exact("")
}

// commits was restored from a copy that is older than the other tables.
func TestCommitsOlderThanTheJournal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 90)
	f.project()
	f.must(f.sql.Exec(t.Context(), "DELETE FROM commits WHERE last_seq > 20"))
	f.project()
	if n, m := f.count("SELECT count() FROM events FINAL"), f.count("SELECT count() FROM log_items FINAL WHERE stream_seq > 80"); n == 0 || m == 0 {
		t.Errorf("%d events, %d items of the journalled range", n, m)
	}
	f.must(f.sql.Exec(t.Context(), "OPTIMIZE TABLE commits FINAL"))
	want := f.outcomes()
	if n := f.count("SELECT (SELECT count() FROM events FINAL) + (SELECT count() FROM duplicates FINAL) + (SELECT count() FROM quarantine FINAL)"); n != uint64(len(want)) {
		t.Errorf("%d messages have an outcome, the stream has %d", n, len(want))
	}
}

// purge removes the messages before a sequence.
func (f *fixture) purge(before uint64) {
	f.t.Helper()
	f.must(f.stream().Purge(f.t.Context(), jetstream.WithPurgeSequence(before)))
}

func TestExpiredUnderTheProjector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 20)
	p := f.projector()
	p.config.UntilCaughtUp, p.config.BatchMessages = false, 1000
	stopped, goOn := make(chan bool), make(chan bool)
	p.config.Steps = atEach(func(point string) {
		if point == pointCommitted {
			stopped <- true
			<-goOn
		}
	})
	done := make(chan error, 1)
	go func() { done <- p.Run(context.WithoutCancel(t.Context())) }()
	await(t, stopped, "a commit")
	// More messages than the client and two batches hold.
	f.publishMix(100, 6000)
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(5000)))
	close(goOn)
	go func() {
		for range stopped {
		}
	}()
	if err := await(t, done, "the projector's end"); !errors.Is(err, streamio.ErrEventsExpired) {
		t.Errorf("ended with %v", err)
	}
	close(stopped)
}

func TestAFreshLedgerBeginsWithWhatTheStreamHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.project() // an empty stream
	f.publishMix(0, 30)
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(11)))
	if got := f.project(); got.Committed != 30 {
		t.Errorf("projected %+v", got)
	}
	f.exact("")
}

func TestNothingSetUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.js.DeleteStream(t.Context(), schema.EventStream))
	f.refuses(streamio.ErrNoStream, "ctxledger migrate")
	f.must(f.js.DeleteKeyValue(t.Context(), lease.Bucket))
	if err := f.run(f.projector()); err == nil || !strings.Contains(err.Error(), "ctxledger migrate") {
		t.Errorf("ended with %v", err)
	}
}
