package producer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// withoutStream removes the stream of a bus, and returns a function that restores it.
func withoutStream(t *testing.T, b *bustest.Bus) (back func()) {
	t.Helper()
	if err := b.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	return func() {
		b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: time.Minute})
	}
}

func flushUntilStored(t *testing.T, client *Client) {
	t.Helper()
	ctx := bustest.Within(t, 30*time.Second)
	for err := client.Flush(ctx); err != nil; err = client.Flush(ctx) {
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDrop: dropped facts use their sequences, and one record per session and range
// declares them before the session's next fact.
func TestDrop(t *testing.T) {
	t.Parallel()
	for _, next := range []bool{true, false} { // with a later fact, or only by room
		t.Run(fmt.Sprintf("a next fact %v", next), func(t *testing.T) {
			t.Parallel()
			b := bustest.Start(t)
			client := newClient(t, b, func(c *Config) { c.MaxQueued, c.WhenFull, c.Linger = 4, Drop, time.Millisecond })
			back := withoutStream(t, b)
			run, err := client.Open(t.Context(), Run{Session: "s"})
			if err != nil {
				t.Fatal(err)
			}
			record(t, client, "s", "a")
			record(t, client, "other", "a", "b")
			record(t, client, "s", "lost", "lost", "lost") // 3 to 5
			record(t, client, "other", "lost")             // 3
			if n := client.Dropped(); n != 4 {
				t.Errorf("%d dropped, not 4", n)
			}
			if _, err := run.Turn("t", Model{}).Seal(t.Context()); !errors.Is(err, publish.ErrQueueFull) {
				t.Errorf("a seal without room: %v", err)
			}
			missing := schema.Missing{MissingID: "g", Question: "?", RequestedFrom: "user", RequestedAction: "say", UserSummary: "?", Status: schema.StatusOpen}
			if _, err := client.Record(t.Context(), &schema.MissingDetected{Missing: missing}, schema.Correlation{SessionID: "s"}); !errors.Is(err, publish.ErrQueueFull) {
				t.Errorf("a gap without room: %v", err)
			}
			back()
			sequences := map[string]int64{"s": 6, "other": 4}
			if next {
				flushUntilStored(t, client)
				record(t, client, "s", "z")
				sequences["s"]++
			}
			flushUntilStored(t, client)
			last, lost := map[string]int64{}, map[string][2]int64{}
			for _, e := range b.Events(t) {
				fact, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				if d, ok := fact.(*schema.FactsDropped); ok {
					lost[e.SessionID] = d.Sequences[0].Ranges[0]
					if first := last[e.SessionID] + 1; d.Sequences[0].Ranges[0][0] != first || d.Sequences[0].Ranges[0][1] != *e.Sequence-1 {
						t.Errorf("sequence %d declares %s after %d", *e.Sequence, e.Data, first-1)
					}
				} else if *e.Sequence != last[e.SessionID]+1 {
					t.Errorf("session %s: %d after %d", e.SessionID, *e.Sequence, last[e.SessionID])
				}
				last[e.SessionID] = *e.Sequence
			}
			if lost["s"] != [2]int64{3, 5} || lost["other"] != [2]int64{3, 3} || last["s"] != sequences["s"] || last["other"] != sequences["other"] {
				t.Errorf("declared %v, last sequences %v", lost, last)
			}
		})
	}
}

// TestBlock: facts wait for room until the context ends or the limit for the outage is
// reached.
func TestBlock(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, func(c *Config) {
		c.MaxQueued, c.WhenFull, c.BlockFor, c.Linger = 2, Block, time.Hour, time.Millisecond
	})
	back := withoutStream(t, b)
	record(t, client, "s", "a", "b")
	if _, err := client.Record(bustest.Ended(), &schema.ItemRemoved{ItemID: "c"}, schema.Correlation{SessionID: "s"}); !errors.Is(err, publish.ErrQueueFull) || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := client.Record(context.Background(), &schema.ItemRemoved{ItemID: "c"}, schema.Correlation{SessionID: "s"})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	back()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	flushUntilStored(t, client)
	if n := bySequence(t, b.Events(t))["s"]; n != 3 {
		t.Errorf("%d events, not 3", n)
	}

	bounded := newClient(t, b, func(c *Config) {
		c.MaxQueued, c.WhenFull, c.BlockFor, c.Linger = 2, Block, 50*time.Millisecond, time.Millisecond
	})
	withoutStream(t, b)
	record(t, bounded, "s", "a", "b")
	for range 1_000 { // the limit is for the outage: a thousand facts wait no longer than one
		if _, err := bounded.Record(t.Context(), &schema.ItemRemoved{ItemID: "c"}, schema.Correlation{SessionID: "s"}); !errors.Is(err, publish.ErrQueueFull) {
			t.Fatal(err)
		}
	}
}

// TestOutboxBound: when the outbox is full, memory fills, and then the caller gets an
// error. All accepted facts are sent in order.
func TestOutboxBound(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox"), outbox.Options{NoSync: true, MaxBytes: 5_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	client := newClient(t, b, keptIn(box), func(c *Config) { c.MaxQueued = 10 })
	back := withoutStream(t, b)
	taken := int64(0)
	for {
		_, err = client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, schema.Correlation{SessionID: "s"})
		if err != nil && errors.Is(err, outbox.ErrFull) {
			break
		}
		if err == nil {
			taken++
		}
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(err, publish.ErrQueueFull) {
		t.Errorf("without room: %v", err)
	}
	if _, err := client.transport.Store(t.Context()); !errors.Is(err, outbox.ErrFull) {
		t.Errorf("store: %v", err)
	}
	back()
	flushUntilStored(t, client)
	if n := bySequence(t, b.Events(t))["s"]; n != taken {
		t.Errorf("%d events, not %d", n, taken)
	}
}
