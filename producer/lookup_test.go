package producer

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/schema"
)

// forgetful is a stream that forgets message ids at once: nothing but a look
// into it tells what it holds.
func forgetful(c *jetstream.StreamConfig) { c.Duplicates = 100 * time.Millisecond }

func batchOf(t testing.TB, ids ...string) []*nats.Msg {
	t.Helper()
	var list []*nats.Msg
	for _, id := range ids {
		m := removed(t, id).Binary()
		list = append(list, &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
	}
	return list
}

// TestTriedAgain sends a batch again of which the stream has all, some or
// nothing, from just now or from before its window for duplicates.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	whole := numbered(20)
	for _, test := range []struct {
		name   string
		stored []string // singly, in front of the second try
		wait   time.Duration
	}{
		{"nothing", nil, 0},
		{"all, just now", whole, 0},
		{"all, long ago", whole, 300 * time.Millisecond},
		{"the first half, just now", whole[:10], 0},
		{"the first half, long ago", whole[:10], 300 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := startBus(t, forgetful)
			s := &sender{js: b.js}
			if err := s.try(batchOf(t, "before"), false); err != nil {
				t.Fatal(err)
			}
			other := &sender{js: b.js}
			if len(test.stored) > 0 {
				if err := other.publishSingly(t.Context(), batchOf(t, test.stored...)); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.try(batchOf(t, "of another"), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(test.wait)
			if err := s.try(batchOf(t, whole...), true); err != nil {
				t.Fatal(err)
			}
			if err := s.try(batchOf(t, "after"), false); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(b.ids(t), func(id string) bool { return id == "of another" })
			if want := slices.Concat([]string{"before"}, whole, []string{"after"}); !slices.Equal(got, want) {
				t.Errorf("the stream holds %v", got)
			}
		})
	}
}

// TestOutboxAfterARestart: a batch of the outbox was sent, nobody heard of it,
// and the process and the stream's memory for ids are gone.
func TestOutboxAfterARestart(t *testing.T) {
	t.Parallel()
	b := startBus(t, forgetful)
	path := filepath.Join(t.TempDir(), "outbox")
	box := openBox(t, path)
	away, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	offline := &bus{nc: away}
	client := offline.client(t, keptIn(box))
	record(t, client, "s", "a", "b", "c")
	if stored, err := client.transport.Store(t.Context()); err != nil || stored != InOutbox {
		t.Fatal(stored, err)
	}
	_, messages, err := box.Head()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.js, fromMessages(messages)); err != nil {
		t.Fatal(err)
	}
	record(t, client, "s", "d") // another batch
	if stored, err := client.transport.Store(t.Context()); err != nil || stored != InOutbox {
		t.Fatal(stored, err)
	}
	away.Close()
	box.Close()
	time.Sleep(300 * time.Millisecond)
	again := b.client(t, keptIn(openBox(t, path)))
	record(t, again, "s", "e")
	if err := again.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.events(t)
	if n := bySequence(t, events)["s"]; n != 5 {
		t.Errorf("%d events, not 5", n)
	}
	checkOnceAndInOrder(t, events)
}

// TestStreamOfAnotherAge: the stream was made anew, and its sequences are below
// the one that was acknowledged last.
func TestStreamOfAnotherAge(t *testing.T) {
	t.Parallel()
	b := startBus(t, forgetful)
	s := &sender{js: b.js}
	for _, id := range numbered(10) {
		if err := s.try(batchOf(t, id), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.js.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	b.createStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 100 * time.Millisecond})
	batch := batchOf(t, "a", "b", "c")
	if _, err := jetstreamext.PublishMsgBatch(context.Background(), b.js, batch); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if err := s.try(batch, true); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, b, []string{"a", "b", "c"})
}
