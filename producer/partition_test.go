package producer

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// wantSessions checks that each session is complete, once and in order, and only in the
// stream of its partition.
func wantSessions(t *testing.T, b *bustest.Bus, n schema.Partitions, sessions []string, items int) {
	t.Helper()
	got := make(map[string]int)
	for i, s := range n.EventStreams() {
		events := b.EventsIn(t, s.Name)
		if len(events) == 0 {
			t.Errorf("%s is empty", s.Name)
		}
		for _, e := range events {
			if of := n.Of(schema.SubjectOf(e).String()); of != i {
				t.Fatalf("session %s, of partition %d, is in %s", e.SessionID, of, s.Name)
			}
			if *e.Sequence != int64(got[e.SessionID]+1) {
				t.Fatalf("session %s: sequence %d comes after %d", e.SessionID, *e.Sequence, got[e.SessionID])
			}
			got[e.SessionID]++
		}
	}
	for _, session := range sessions {
		if got[session] != items {
			t.Errorf("session %s has %d events, not %d", session, got[session], items)
		}
	}
}

func TestEventsGoToTheirPartitions(t *testing.T) {
	t.Parallel()
	for _, n := range []schema.Partitions{2, 4, 16} {
		t.Run(n.String(), func(t *testing.T) {
			t.Parallel()
			b := bustest.StartPartitions(t, n)
			client := newClient(t, b)
			sessions := bustest.SessionNames(200)
			for i := range 15 { // more than a batch
				for _, session := range sessions {
					record(t, client, session, fmt.Sprint("item-", i))
				}
			}
			if err := client.Flush(bustest.Within(t, 20*time.Second)); err != nil {
				t.Fatal(err)
			}
			wantSessions(t, b, n, sessions, 15)
		})
	}
}

// One stream accepts nothing for longer than the others remember message ids. Their stored
// part of a batch is found there and not sent again.
func TestOnePartitionIsFull(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"memory": false, "outbox": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = schema.Partitions(4)
			b := bustest.StartPartitions(t, n)
			full := bustest.Partition(n.Stream(2))
			full.MaxMsgs = 3
			b.Update(t, full)
			var options []func(*Config)
			path := filepath.Join(t.TempDir(), "outbox")
			if kept {
				options = append(options, keptIn(openBox(t, path)))
			}
			client := newClient(t, b, options...)
			sessions := bustest.SessionNames(60)
			for i := range 5 {
				for _, session := range sessions {
					record(t, client, session, fmt.Sprint("item-", i))
				}
			}
			if err := client.Flush(bustest.Within(t, 2*time.Second)); err == nil {
				t.Fatal("a stream of 3 messages took them all")
			}
			if client.Err() == nil {
				t.Error("the client does not say that something waits")
			}
			bustest.Forget()
			full.MaxMsgs = -1
			b.Update(t, full)
			if err := client.Flush(bustest.Within(t, 60*time.Second)); err != nil {
				t.Fatal(err)
			}
			wantSessions(t, b, n, sessions, 5)
		})
	}
}

// A process ends with batches in its outbox of which some streams have their part. The next
// process sends the rest, and nothing twice.
func TestOutboxGoesOnWithPartitions(t *testing.T) {
	t.Parallel()
	const n = schema.Partitions(4)
	b := bustest.StartPartitions(t, n)
	path := filepath.Join(t.TempDir(), "outbox")
	box := openBox(t, path)
	sessions := bustest.SessionNames(60)
	client := newClient(t, b, keptIn(box))
	for _, session := range sessions {
		record(t, client, session, "first")
	}
	if err := client.Flush(bustest.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	full := bustest.Partition(n.Stream(1))
	full.MaxMsgs = 1
	b.Update(t, full)
	for _, session := range sessions {
		record(t, client, session, "second")
	}
	if _, err := client.transport.Store(bustest.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(bustest.Within(t, time.Second)); err == nil {
		t.Fatal("a stream of one message took them all")
	}
	box.Close()
	bustest.Forget()
	full.MaxMsgs = -1
	b.Update(t, full)
	box = openBox(t, path)
	client = newClient(t, b, keptIn(box))
	for _, session := range sessions {
		record(t, client, session, "third")
	}
	if err := client.Flush(bustest.Within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantSessions(t, b, n, sessions, 3)
	if box.Acked() == 0 {
		t.Error("the outbox does not keep where the streams are")
	}
}

// A tenant gets two streams of its own while its producer publishes. Every event is stored once and in order.
func TestProducerFollowsItsTenant(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	box := openBox(t, filepath.Join(t.TempDir(), "outbox"))
	client := newClient(t, b, keptIn(box), func(c *Config) { c.Tenant = "acme" })
	sessions := bustest.SessionNames(40)
	publish := func(item string) {
		t.Helper()
		for _, session := range sessions {
			record(t, client, session, item)
		}
	}
	publish("first")
	if err := client.Flush(bustest.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	shared := bustest.Partition(schema.Partitions(1).Stream(0))
	shared.Subjects = schema.Partitions(1).SubjectsOf(0, "umbrella")
	b.Update(t, shared)
	publish("second") // no stream takes it yet
	if err := client.Flush(bustest.Within(t, time.Second)); err == nil {
		t.Fatal("no stream takes the tenant's events, and they are stored")
	}
	for _, s := range schema.Partitions(2).EventStreamsOf("acme") {
		b.CreateStream(t, bustest.Partition(s))
	}
	publish("third")
	if err := client.Flush(bustest.Within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	if lost := client.Dropped(); lost > 0 {
		t.Errorf("%d events are lost", lost)
	}
	got := make(map[string]int64)
	for i, name := range []string{"CTX", "CTX_0-acme", "CTX_1-acme"} {
		events := b.EventsIn(t, name)
		if want := map[int]int{0: len(sessions)}[i]; want > 0 && len(events) != want || len(events) == 0 {
			t.Errorf("%s has %d events", name, len(events))
		}
		for _, e := range events {
			if *e.Sequence != got[e.SessionID]+1 {
				t.Errorf("session %s: sequence %d comes after %d", e.SessionID, *e.Sequence, got[e.SessionID])
			}
			got[e.SessionID] = *e.Sequence
		}
	}
	for _, session := range sessions {
		if got[session] != 3 {
			t.Errorf("session %s has %d events, not 3", session, got[session])
		}
	}
}
