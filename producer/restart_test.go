package producer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

func TestServerRestart(t *testing.T) {
	t.Parallel()
	b, stop, start := bustest.Restartable(t)
	client := newClient(t, b, func(c *Config) { c.Linger = 20 * time.Millisecond })
	const n = 2_500
	for i := range n {
		switch i {
		case 300:
			if err := client.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop()
		case 1_800:
			if err := client.Flush(bustest.Within(t, 300*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Flush without a server: %v", err)
			}
		case 2_000:
			start()
		}
		// Recording does not wait, so an ended context has no effect.
		if _, err := client.Record(bustest.Ended(), &schema.ItemRemoved{ItemID: fmt.Sprint(i)}, schema.Correlation{SessionID: "s"}); err != nil {
			t.Fatal(i, err)
		}
	}
	// The facts are sent without a flush.
	for deadline := time.Now().Add(30 * time.Second); client.transport.(*publish.Publisher).Queued() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d events still wait: %v", client.transport.(*publish.Publisher).Queued(), client.Err())
		}
	}
	if err := client.Err(); err != nil {
		t.Errorf("an error after recovery: %v", err)
	}
	for i, e := range b.Events(t) {
		if *e.Sequence != int64(i+1) || e.Subject != fmt.Sprint(i) {
			t.Fatalf("event %d has sequence %d and subject %s", i, *e.Sequence, e.Subject)
		}
	}
	if got := b.Messages(t); got != n {
		t.Errorf("%d messages, not %d", got, n)
	}
}

// TestOutboxAfterARestart: a batch of the outbox was sent without an answer. Then the
// process ended, and the stream forgot its message ids.
func TestOutboxAfterARestart(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t, bustest.Forgetful)
	path := filepath.Join(t.TempDir(), "outbox")
	box := openBox(t, path)
	away, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	offline := &bustest.Bus{NC: away}
	client := newClient(t, offline, keptIn(box))
	record(t, client, "s", "a", "b", "c")
	if stored, err := client.transport.Store(t.Context()); err != nil || stored != publish.InOutbox {
		t.Fatal(stored, err)
	}
	_, messages, err := box.Head()
	if err != nil {
		t.Fatal(err)
	}
	var batch []*nats.Msg
	for _, m := range messages {
		batch = append(batch, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
	}
	if _, err := jetstreamext.PublishMsgBatch(t.Context(), b.JS, batch); err != nil {
		t.Fatal(err)
	}
	record(t, client, "s", "d") // another batch
	if stored, err := client.transport.Store(t.Context()); err != nil || stored != publish.InOutbox {
		t.Fatal(stored, err)
	}
	away.Close()
	box.Close()
	time.Sleep(300 * time.Millisecond)
	again := newClient(t, b, keptIn(openBox(t, path)))
	record(t, again, "s", "e")
	if err := again.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.Events(t)
	if n := bySequence(t, events)["s"]; n != 5 {
		t.Errorf("%d events, not 5", n)
	}
	checkOnceAndInOrder(t, events)
}
