package projector

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// counted counts the complete reads of a projector from its ledger, and can drop the reply to a
// commit.
type counted struct {
	store
	identities, withheld atomic.Int64
	mute                 atomic.Int64 // the number of next commits whose reply is lost
}

func (c *counted) Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error {
	c.identities.Add(1)
	return c.store.Identities(ctx, except, most, add)
}

func (c *counted) WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, revoked ...privacy.Redaction) ([]privacy.Withheld, error) {
	c.withheld.Add(1)
	return c.store.WithheldThrough(ctx, incarnation, through, revoked...)
}

func (c *counted) Commit(ctx context.Context, b *ledger.Batch, epoch uint64) error {
	err := c.store.Commit(ctx, b, epoch)
	if err == nil && c.mute.Add(-1) >= 0 {
		return errors.New("the reply was lost")
	}
	return err
}

// wants compares the numbers of complete reads.
func (c *counted) wants(t *testing.T, identities, withheld int64) {
	t.Helper()
	if i, w := c.identities.Load(), c.withheld.Load(); i != identities || w != withheld {
		t.Errorf("all identities were read %d times and all fingerprints %d times, want %d and %d", i, w, identities, withheld)
	}
}

// countedOn adds the counters to a projector.
func countedOn(p *Projector) *counted {
	c := &counted{store: p.store}
	p.store = c
	return c
}

// While ClickHouse refuses, a projector starts again with every attempt. The projector does not
// read known values again.
func TestRefusedForLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 45)
	f.must(f.run(f.guarded(new(logbook))))
	var log logbook
	p := f.guarded(&log)
	c := countedOn(p)
	stop := f.follow(p)
	f.await("it projects", func() bool { return p.Status().Ready })
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE events MODIFY SETTING parts_to_throw_insert = 1"))
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publishMix(1000, 15)
	f.await("it was refused some times", func() bool { return strings.Count(log.String(), "cause=clickhouse code=252") >= 4 })
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE events RESET SETTING parts_to_throw_insert"))
	f.awaitLevel()
	f.must(stop())
	c.wants(t, 1, 1)
	if n := f.count("SELECT toUInt64(groupBitXor(stream_seq)) FROM quarantine WHERE code = 'redaction_reintroduced'"); n != 48 {
		t.Errorf("reintroduced is %d, want the one behind the redaction, 48", n)
	}
	if n := f.count("SELECT uniqExact(stream_seq) FROM (SELECT stream_seq FROM events UNION ALL SELECT stream_seq FROM duplicates UNION ALL SELECT stream_seq FROM quarantine)"); n != 63 {
		t.Errorf("%d messages have an outcome, want 63", n)
	}
}

// The last commit may be the projector's own commit, whose reply was lost.
func TestReplyToACommitIsLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publishMix(0, 30)
	p := f.guarded(new(logbook))
	c := countedOn(p)
	c.mute.Store(1)
	stop := f.follow(p)
	f.awaitLevel()
	f.publish(projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`).Binary()) // the redaction was in the batch
	f.publish(projectortest.Event(0, 0).Binary())                                       // this event was in the batch, too
	f.awaitLevel()
	f.must(stop())
	c.wants(t, 1, 1)
	if got := p.Status(); got.Quarantined == 0 || f.count("SELECT count() FROM quarantine WHERE code = 'redaction_reintroduced'") != 1 {
		t.Errorf("the value that came back is not refused: %+v", got)
	}
	if n := f.count("SELECT count() FROM duplicates WHERE stream_seq = 33"); n != 1 {
		t.Error("the repeat is not recognised")
	}
}

// recover runs the first states of a projector without a lease.
func (f *fixture) recover(p *Projector) {
	f.t.Helper()
	rc := p.recovery()
	for _, step := range []func(context.Context) error{rc.open, rc.kill, rc.verify, rc.load} {
		f.must(step(f.t.Context()))
	}
}

// A redaction that was built but not committed does not count when its batch starts again.
// Messages before the redaction are not refused.
func TestRedactionThatWasNotCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, "another secret value").Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publish(projectortest.Redaction(t, 2, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(2, `{"note":"another secret value"}`).Binary())
	f.flush()
	p := f.guarded(new(logbook))
	c := countedOn(p)
	refused := func(first, last uint64) (sequences []uint64) {
		t.Helper()
		messages, err := p.source.ReadRange(t.Context(), first, last, 10)
		f.must(err)
		b, err := p.assemble(t.Context(), messages, 0)
		f.must(err)
		p.depart(b)
		for _, m := range b.quarantined {
			sequences = append(sequences, m.Position.StreamSeq)
		}
		return sequences
	}
	f.recover(p)
	refused(3, 3)
	f.recover(p)
	if got := refused(2, 4); !slices.Equal(got, []uint64{4}) {
		t.Errorf("messages %v are refused, want 4, which holds a value of a committed redaction", got)
	}
	c.wants(t, 1, 1)
}

// A commit of another projector is read again even without a noticed loss of the lease, because
// the bucket may have been restored.
func TestAnotherHasCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 30)
	f.project()
	p := f.projector()
	c := countedOn(p)
	recover := func() { t.Helper(); f.recover(p) }
	recover()
	recover()
	c.wants(t, 1, 1)
	f.publish(projectortest.Event(500, 0).Binary())
	f.project()
	recover()
	c.wants(t, 2, 2)
	if !p.seen.Maybe(projectortest.Event(500, 0).Identity()) {
		t.Error("an event of another holder is taken for new")
	}
	recover()
	c.wants(t, 2, 2)
	// The tables may also have been replaced.
	p.forget()
	recover()
	c.wants(t, 3, 3)
}

// Tables were emptied under a projector without own commits. They have no redaction any more,
// so messages before it are not refused.
func TestTablesWereEmptied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	p := f.guarded(new(logbook))
	c := countedOn(p)
	f.recover(p)
	for _, table := range []string{"events", "redactions", "commits"} {
		f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE "+table))
	}
	f.recover(p)
	c.wants(t, 2, 2)
	messages, err := p.source.ReadRange(t.Context(), 1, 2, 2)
	f.must(err)
	b, err := p.assemble(t.Context(), messages, 0)
	f.must(err)
	if len(b.quarantined) > 0 {
		t.Errorf("message %d is refused, want none", b.quarantined[0].Position.StreamSeq)
	}
}

// The tables were replaced by an older copy before the first commit of a stream that was made anew. They have the
// redaction of the former stream no more, so nothing is refused by it.
func TestTablesWereEmptiedBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.flush()
	f.must(f.run(f.guarded(new(logbook))))
	f.renew(false)
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.flush()
	p := f.guarded(new(logbook))
	for _, want := range []int{1, 0} {
		f.recover(p)
		messages, err := p.source.ReadRange(t.Context(), 1, 1, 1)
		f.must(err)
		b, err := p.assemble(t.Context(), messages, 0)
		f.must(err)
		if len(b.quarantined) != want {
			t.Errorf("%d messages are refused, want %d", len(b.quarantined), want)
		}
		for _, table := range []string{"events", "redactions", "commits"} {
			f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE "+table))
		}
	}
}

// A process is suspended after it opened the stream, and its successor commits what came since. The stream is not
// forked.
func TestSuspendedAfterTheOpening(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 15)
	f.project()
	rc := f.projector().recovery()
	f.must(rc.open(t.Context()))
	f.publishMix(1000, 15)
	f.project()
	f.must(rc.kill(t.Context()))
	f.must(rc.verify(t.Context()))
}

// Messages expire after the stream was opened, and a table lacks their rows.
func TestMessagesExpireBeforeTheirRowsAreMended(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 15)
	f.project()
	f.must(f.sql.Exec(t.Context(), "TRUNCATE TABLE log_items"))
	p := f.projector()
	f.recover(p)
	f.must(f.stream().Purge(t.Context(), jetstream.WithPurgeSequence(5)))
	rc := p.recovery()
	if err := rc.walkBack(t.Context()); !errors.Is(err, streamio.ErrEventsExpired) || !strings.Contains(err.Error(), "sequences 1 to 4") {
		t.Error("the walk back ends with", err)
	}
}
