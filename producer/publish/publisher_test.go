package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

func publishAll(t *testing.T, p *Publisher, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := p.Publish(t.Context(), bustest.Removed(t, id)); err != nil {
			t.Fatal(id, err)
		}
	}
}

func flush(t *testing.T, p *Publisher) {
	t.Helper()
	if err := p.Flush(bustest.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestBatchesKeepOrder(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := New(b.JS, 0)
	ids := bustest.Numbered(6_500) // more than a batch and more than the queue
	publishAll(t, p, ids...)
	flush(t, p)
	bustest.WantIDs(t, b, ids)
	if p.Queued() != 0 || p.bytes != 0 || p.stored != p.accepted {
		t.Errorf("%d queued, %d bytes", p.Queued(), p.bytes)
	}
}

// TestBatchErrors compares the library's errors with the errors of a real server.
func TestBatchErrors(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	batch := func(ids ...string) []*nats.Msg {
		var list []*nats.Msg
		for _, id := range ids {
			m := bustest.Removed(t, id).Binary()
			list = append(list, &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
		}
		return list
	}
	first := batch("a", "b")
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.JS, first); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.JS, batch("c", "b")); !errors.Is(err, jetstreamext.ErrBatchPublishDuplicateMsgID) {
		t.Errorf("a duplicate: %v", err)
	}
	if _, err := b.JS.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, Duplicates: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.JS, batch("d", "e")); !errors.Is(err, jetstreamext.ErrBatchPublishNotEnabled) {
		t.Errorf("not enabled: %v", err)
	}
	// The messages of a failed batch are used again.
	for range 2 {
		if err := (&sender{js: b.JS}).publish(t.Context(), first); err != nil {
			t.Error(err)
		}
	}
	bustest.WantIDs(t, b, []string{"a", "b"})
}

func TestStreamWithoutBatches(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t, func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false })
	p := New(b.JS, 0)
	publishAll(t, p, bustest.Numbered(50)...)
	flush(t, p)
	bustest.WantIDs(t, b, bustest.Numbered(50))
}

func TestBatchWithStoredEvents(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := New(b.JS, 0)
	publishAll(t, p, "x", "b")
	flush(t, p)
	publishAll(t, p, "a", "b", "c", "x", "d")
	flush(t, p)
	publishAll(t, p, "d", "e", "e") // a duplicate within one batch
	flush(t, p)
	bustest.WantIDs(t, b, []string{"x", "b", "a", "c", "d", "e"})
}

func TestTooManyBatchesInFlight(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	var open []jetstreamext.BatchPublisher
	for i := range 60 {
		batch, err := jetstreamext.NewBatchPublisher(b.JS)
		if err != nil {
			t.Fatal(err)
		}
		if err = batch.AddMsg(&nats.Msg{Subject: "ctx.v1.filler"}); err != nil {
			if !errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight) {
				t.Fatalf("batch %d: %v", i, err)
			}
			break
		}
		open = append(open, batch)
	}
	if len(open) == 60 {
		t.Fatal("the server has no limit")
	}
	p := New(b.JS, 0)
	publishAll(t, p, "a", "b")
	done := make(chan error, 1)
	go func() { done <- p.Flush(t.Context()) }()
	select {
	case err := <-done:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := open[0].CommitMsg(t.Context(), &nats.Msg{Subject: "ctx.v1.filler"}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := b.Messages(t); n != 4 {
		t.Errorf("%d messages, not 4", n)
	}
}

// TestLostReply stores a batch without the publisher, as if the acknowledgment of its first
// attempt had been lost.
func TestLostReply(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := NewWith(b.JS, Options{Linger: time.Hour, MaxQueued: 10_000})
	ids := bustest.Numbered(20)
	publishAll(t, p, ids[:10]...)
	p.mu.Lock()
	batch, size := p.batch()
	p.mu.Unlock()
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.JS, batch); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.settle(batch, size, nats.ErrTimeout)
	p.mu.Unlock()
	publishAll(t, p, ids[10:]...)
	if again, _ := p.batch(); len(again) != 10 {
		t.Errorf("the batch that was tried has now %d events", len(again))
	}
	if err := p.Err(); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("Err is %v", err)
	}
	flush(t, p)
	bustest.WantIDs(t, b, ids)
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

// TestFailedTryLosesNothing lets the timer's attempt fail. Publish still queues, Err
// returns the reason each time, and Flush gets its own error.
func TestFailedTryLosesNothing(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := NewWith(b.JS, Options{Linger: 10 * time.Millisecond, MaxQueued: 5})
	if err := b.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	publishAll(t, p, "a", "b")
	for deadline := time.Now().Add(10 * time.Second); p.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no error")
		}
	}
	if err := p.Flush(t.Context()); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("Flush: %v", err)
	}
	if first, second := p.Err(), p.Err(); !errors.Is(first, nats.ErrNoResponders) || !errors.Is(second, nats.ErrNoResponders) {
		t.Errorf("Err: %v, %v", first, second)
	}
	publishAll(t, p, "c", "d", "e")
	err := p.Publish(bustest.Ended(), bustest.Removed(t, "f")) // returns the error without a wait
	if !errors.Is(err, ErrQueueFull) || !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("the sixth: %v", err)
	}
	time.Sleep(1500 * time.Millisecond) // an attempt for the events above has failed
	b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true})
	for deadline := time.Now().Add(20 * time.Second); p.Queued() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not try again by itself")
		}
	}
	publishAll(t, p, "f")
	flush(t, p)
	bustest.WantIDs(t, b, []string{"a", "b", "c", "d", "e", "f"})
}

// TestBulkPublisherWaits: without a linger, Publish waits for room, and an event with an
// error is not queued.
func TestBulkPublisherWaits(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	if err := b.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	p := NewWith(b.JS, Options{MaxQueued: 3, WaitForRoom: true})
	publishAll(t, p, "a", "b", "c")
	if err := p.Publish(t.Context(), bustest.Removed(t, "d")); !errors.Is(err, nats.ErrNoResponders) {
		t.Fatalf("the fourth: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Publish(ctx, bustest.Removed(t, "d")); err == nil {
		t.Fatal("a cancelled context found room")
	}
	b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true})
	time.Sleep(500 * time.Millisecond) // an attempt that still runs may fail
	var err error
	for range 3 {
		if err = p.Publish(t.Context(), bustest.Removed(t, "d")); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	flush(t, p)
	bustest.WantIDs(t, b, []string{"a", "b", "c", "d"})
}

func TestConcurrentPublish(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := New(b.JS, time.Millisecond)
	const writers, each = 8, 400
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				if err := p.Publish(t.Context(), bustest.Removed(t, fmt.Sprintf("%d-%05d", w, i))); err != nil {
					t.Error(err)
				}
				if i%97 == 0 {
					if err := p.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	flush(t, p)
	last := map[string]string{}
	ids := b.IDs(t)
	for _, id := range ids {
		writer, _, _ := strings.Cut(id, "-")
		if id <= last[writer] {
			t.Fatalf("%s after %s", id, last[writer])
		}
		last[writer] = id
	}
	if len(ids) != writers*each {
		t.Errorf("%d events, not %d", len(ids), writers*each)
	}
}

func TestLingerSendsWithoutFlush(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := New(b.JS, 30*time.Millisecond)
	for round := 1; round <= 3; round++ {
		publishAll(t, p, fmt.Sprint("a", round), fmt.Sprint("b", round))
		for deadline := time.Now().Add(5 * time.Second); b.Messages(t) != uint64(2*round); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nothing was sent")
			}
		}
	}
}

func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	p := New(b.JS, 0)
	var violations schema.Violations
	if err := p.Publish(t.Context(), &schema.Event{ID: "x"}); !errors.As(err, &violations) {
		t.Errorf("an invalid event: %v", err)
	}
	// Within the contract, but above the server's limit: every attribute is at its limit,
	// and percent-encoding makes three bytes of one.
	e := bustest.Removed(t, "big")
	e.Extensions = map[string]string{}
	for i := range 400 {
		e.Extensions[fmt.Sprintf("x%d", i)] = strings.Repeat("é", 512)
	}
	if err := p.Publish(t.Context(), e); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a large event: %v", err)
	}
	publishAll(t, p, "a")
	flush(t, p)
	bustest.WantIDs(t, b, []string{"a"})
	b.NC.Close()
	publishAll(t, p, "b")
	if err := p.Flush(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("a closed connection: %v", err)
	}
}
