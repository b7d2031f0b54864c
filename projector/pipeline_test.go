package projector

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
)

// Every batch is one message. The next batch is built before the ledger has rows of the current
// one.
func TestEventsInFlightCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 5 {
		f.publish(projectortest.Event(id, 0).Binary())
		f.publish(projectortest.Event(id, id%2).Binary()) // repeats, some with another digest
	}
	p := f.projector()
	p.config.BatchMessages = 1
	p.config.Steps = atEach(func(point string) {
		if point == pointBuilt {
			time.Sleep(200 * time.Millisecond)
		}
	})
	f.must(f.run(p))
	if got := p.Status(); got.Events != 5 || got.Duplicates != 3 || got.Quarantined != 2 || got.Committed != 10 {
		t.Errorf("projected %+v, want 5 events, 3 duplicates and 2 conflicts", got)
	}
	if n := f.count("SELECT count() FROM events"); n != 5 {
		t.Errorf("%d events", n)
	}
}

// A batch that is built but not journalled at the end of the projector leaves no trace.
func TestEndsBetweenTwoBatches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 40 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	f.flush()
	p := f.projector()
	p.config.BatchMessages = 4
	ctx, cancel := context.WithCancel(t.Context())
	batches := 0
	p.config.Steps = atEach(func(point string) {
		if point == pointJournalled {
			if batches++; batches == 3 {
				time.Sleep(30 * time.Millisecond)
				cancel()
			}
		}
	})
	f.must(p.Run(ctx))
	if got := p.Status(); got.Committed != 12 || got.Events != 12 {
		t.Errorf("committed %+v, want the journalled range", got)
	}
	if got := f.project(); got.Committed != 40 || got.Events != 28 {
		t.Errorf("the next one committed %+v", got)
	}
	if n := f.count("SELECT count() FROM events"); n != 40 {
		t.Errorf("%d events", n)
	}
}

// A batch that cannot be written ends the earlier stages.
func TestAStageThatFailsEndsTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 40 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	p := f.projector()
	p.config.BatchMessages = 4
	p.config.Steps = atEach(func(point string) {
		if point == pointCommitted {
			_, err := p.lease.KV.Put(t.Context(), p.lease.Key, []byte(`{"epoch":99,"owner":"another","holder":"another"}`))
			f.must(err)
		}
	})
	if err := f.run(p); !errors.Is(err, lease.ErrLost) {
		t.Errorf("ended with %v", err)
	}
	if got := f.project(); got.Committed != 40 {
		t.Errorf("the next one committed %+v", got)
	}
}

func TestShareFollowsTheWrites(t *testing.T) {
	t.Parallel()
	var s pace
	const limit, least = 20_000, 1000
	for i, c := range []struct {
		took time.Duration
		want int
	}{
		{time.Second, 20_000}, {slowWrite, 20_000}, {slowWrite + 1, 10_000}, {fastWrite, 10_000}, {2 * slowWrite, 5000},
		{fastWrite - 1, 10_000}, {0, 20_000}, {0, 20_000},
		{time.Hour, 10_000}, {time.Hour, 5000}, {time.Hour, 2500}, {time.Hour, 1250}, {time.Hour, 1000}, {time.Hour, 1000},
		{0, 1250},
	} {
		s.took(c.took)
		if got := s.of(limit, least); got != c.want {
			t.Errorf("%d: after a write of %v a batch has %d messages, want %d", i, c.took, got, c.want)
		}
	}
	if got := s.of(4, least); got != 4 {
		t.Errorf("a limit of 4 became %d", got)
	}
}

// The time limit does not end a batch that would only wait for the batch before.
func TestABatchGrowsWhileAnotherIsWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.projector()
	p.config.Linger = time.Millisecond
	f.must(p.recovery().open(t.Context()))
	in, err := p.source.NewReader(t.Context(), 1)
	f.must(err)
	t.Cleanup(in.Close)
	line := pipeline{shared: p.shared, in: in, pace: &p.pace}
	line.writing.Store(true)
	parts, ended := make(chan part), make(chan error, 1)
	go func() {
		next, err := line.readBatch(t.Context(), 1, parts)
		if err == nil && next != 3 {
			err = fmt.Errorf("the next batch begins at %d", next)
		}
		ended <- err
	}()
	for id := range 2 {
		f.publish(projectortest.Event(id, 0).Binary())
		f.flush()
		for taken := 0; taken == 0; {
			some := <-parts
			if taken = len(some.messages); some.end {
				t.Fatalf("the batch ended with %d messages after event %d", taken, id)
			}
		}
	}
	line.writing.Store(false)
	for end := false; !end; {
		end = (<-parts).end
	}
	f.must(<-ended)
}
