package producer

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/schema"
)

// startPartitions is startBus with the events in several streams.
func startPartitions(t testing.TB, n schema.Partitions) *bus {
	t.Helper()
	b := &bus{servers: embedded.StartTest(t, func(c *embedded.Config) { c.NoClickHouse = true })}
	b.connect(t)
	for _, s := range n.EventStreams() {
		b.createStream(t, partition(s))
	}
	return b
}

func partition(s schema.Stream) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: s.Name, Subjects: s.Subjects, Metadata: s.Metadata, AllowAtomicPublish: true, Duplicates: 100 * time.Millisecond, Discard: jetstream.DiscardNew,
	}
}

// forget waits until the streams have forgotten the message ids so far.
func forget() { time.Sleep(time.Second) }

// wantSessions checks that each session is whole, once and in order, and in the
// stream of its partition alone.
func (b *bus) wantSessions(t *testing.T, n schema.Partitions, sessions []string, items int) {
	t.Helper()
	got := make(map[string]int)
	for i, s := range n.EventStreams() {
		events := b.eventsIn(t, s.Name)
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

func sessionNames(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("session-", i)
	}
	return list
}

func TestEventsGoToTheirPartitions(t *testing.T) {
	t.Parallel()
	for _, n := range []schema.Partitions{2, 4, 16} {
		t.Run(n.String(), func(t *testing.T) {
			t.Parallel()
			b := startPartitions(t, n)
			client := b.client(t)
			sessions := sessionNames(200)
			for i := range 15 { // more than a batch
				for _, session := range sessions {
					record(t, client, session, fmt.Sprint("item-", i))
				}
			}
			if err := client.Flush(within(t, 20*time.Second)); err != nil {
				t.Fatal(err)
			}
			b.wantSessions(t, n, sessions, 15)
		})
	}
}

// One stream takes nothing for a while, longer than the others remember message
// ids: what they took of a batch is found there and not sent again.
func TestOnePartitionIsFull(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"memory": false, "outbox": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = schema.Partitions(4)
			b := startPartitions(t, n)
			full := partition(n.Stream(2))
			full.MaxMsgs = 3
			b.update(t, full)
			var options []func(*Config)
			path := filepath.Join(t.TempDir(), "outbox")
			if kept {
				options = append(options, keptIn(openBox(t, path)))
			}
			client := b.client(t, options...)
			sessions := sessionNames(60)
			for i := range 5 {
				for _, session := range sessions {
					record(t, client, session, fmt.Sprint("item-", i))
				}
			}
			if err := client.Flush(within(t, 2*time.Second)); err == nil {
				t.Fatal("a stream of 3 messages took them all")
			}
			if client.Err() == nil {
				t.Error("the client does not say that something waits")
			}
			forget()
			full.MaxMsgs = -1
			b.update(t, full)
			if err := client.Flush(within(t, 60*time.Second)); err != nil {
				t.Fatal(err)
			}
			b.wantSessions(t, n, sessions, 5)
		})
	}
}

// A process ends with batches in its outbox, of which some streams have their
// part; the next one sends the rest, and nothing twice.
func TestOutboxGoesOnWithPartitions(t *testing.T) {
	t.Parallel()
	const n = schema.Partitions(4)
	b := startPartitions(t, n)
	path := filepath.Join(t.TempDir(), "outbox")
	box := openBox(t, path)
	sessions := sessionNames(60)
	client := b.client(t, keptIn(box))
	for _, session := range sessions {
		record(t, client, session, "first")
	}
	if err := client.Flush(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	full := partition(n.Stream(1))
	full.MaxMsgs = 1
	b.update(t, full)
	for _, session := range sessions {
		record(t, client, session, "second")
	}
	if _, err := client.transport.Store(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(within(t, time.Second)); err == nil {
		t.Fatal("a stream of one message took them all")
	}
	box.Close()
	forget()
	full.MaxMsgs = -1
	b.update(t, full)
	box = openBox(t, path)
	client = b.client(t, keptIn(box))
	for _, session := range sessions {
		record(t, client, session, "third")
	}
	if err := client.Flush(within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	b.wantSessions(t, n, sessions, 3)
	if box.Acked() == 0 {
		t.Error("the outbox does not keep where the streams are")
	}
}

// A producer that starts before the streams finds them when they come.
func TestPartitionsComeLater(t *testing.T) {
	t.Parallel()
	b := startPartitions(t, 1)
	if err := b.js.DeleteStream(t.Context(), schema.EventStream); err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(b.js, time.Millisecond)
	publish(t, p, "a", "b")
	if err := p.Flush(within(t, time.Second)); err == nil {
		t.Fatal("there is no stream")
	}
	for _, s := range schema.Partitions(2).EventStreams() {
		b.createStream(t, partition(s))
	}
	flush(t, p)
	name := schema.Partitions(2).Stream(schema.Partitions(2).Of(schema.SubjectOf(removed(t, "a")).String())).Name
	if got := b.eventsIn(t, name); len(got) != 2 {
		t.Errorf("%d events in %s", len(got), name)
	}
}

func (b *bus) update(t testing.TB, config jetstream.StreamConfig) {
	t.Helper()
	if _, err := b.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPublishToPartitions says what an event costs with more streams, which
// have 256 filters between them.
func BenchmarkPublishToPartitions(b *testing.B) {
	for _, n := range []schema.Partitions{1, 4, 16, 64} {
		b.Run(n.String(), func(b *testing.B) {
			bus := startPartitions(b, n)
			sessions := sessionNames(400)
			p := NewPublisher(bus.js, 0)
			events := 0
			for b.Loop() {
				e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "item"}, fmt.Sprint(events), "urn:test", time.Unix(1, 0),
					schema.Correlation{SessionID: sessions[events%len(sessions)]})
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Send(b.Context(), e.Binary()); err != nil {
					b.Fatal(err)
				}
				events++
			}
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
