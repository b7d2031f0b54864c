package producer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// openBox opens the outbox in a file until the end of the test.
func openBox(t testing.TB, path string) *outbox.Outbox {
	t.Helper()
	box, err := outbox.Open(path, outbox.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

func keptIn(box publish.Outbox) func(*Config) {
	return func(c *Config) { c.Instance, c.Outbox, c.Linger = "", box, time.Millisecond }
}

func record(t testing.TB, client *Client, session string, items ...string) {
	t.Helper()
	for _, item := range items {
		if _, err := client.Record(bustest.Ended(), &schema.ItemRemoved{ItemID: item}, schema.Correlation{SessionID: session}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSealSaysWhere(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	box := openBox(t, filepath.Join(t.TempDir(), "outbox"))
	client := newClient(t, b, keptIn(box), func(c *Config) { c.StreamWait = time.Minute })
	run, err := client.Open(t.Context(), Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		receipt, err := run.Turn("t", Model{}).Seal(t.Context())
		if err != nil || receipt.Stored != publish.InStream {
			t.Fatal(receipt, err)
		}
	}
}

// TestOutboxOverRestarts: sequences and positions continue from process to process, with or
// without the stream.
func TestOutboxOverRestarts(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	path := filepath.Join(t.TempDir(), "outbox")
	away, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	const session = "a session, 100% \"named\""
	for round := range 6 {
		box := openBox(t, path)
		on := &bustest.Bus{NC: b.NC}
		if round%2 == 0 {
			on.NC = away
		}
		client := newClient(t, on, keptIn(box), func(c *Config) { c.StreamWait = time.Minute })
		run, err := client.Open(t.Context(), Run{Session: session, Thread: "a thread"})
		if err != nil {
			t.Fatal(err)
		}
		turn := run.Turn(fmt.Sprint(round), Model{Name: "gpt-4o"})
		for i := range 5 {
			if _, err := turn.Add(t.Context(), Content{ID: fmt.Sprint(round, " ", i), Role: "user", Kind: window.KindMessage, Text: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		receipt, err := turn.Seal(t.Context())
		if want := map[bool]publish.Stored{true: publish.InOutbox, false: publish.InStream}[round%2 == 0]; err != nil || receipt.Stored != want {
			t.Fatalf("round %d: %+v, %v", round, receipt, err)
		}
		record(t, client, session, "not sealed") // may be lost, and leaves no hole
		box.Close()
	}
	last := newClient(t, b, keptIn(openBox(t, path)))
	if err := last.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.Events(t)
	checkOnceAndInOrder(t, events)
	if n := bySequence(t, events)[session]; n < 6*12 {
		t.Errorf("%d events", n)
	}
}

func TestOutboxIsOneInstances(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	box := openBox(t, filepath.Join(t.TempDir(), "outbox"))
	c := DefaultConfig(b.NC)
	c.Outbox, c.Instance = box, "another"
	if _, err := Connect(t.Context(), c); err == nil {
		t.Error("an instance that is not the outbox's was accepted")
	}
	c.Instance = ""
	client, err := Connect(t.Context(), c)
	if err != nil || !strings.HasSuffix(client.Source(), ":"+box.Instance()) {
		t.Errorf("source %v, %v", client, err)
	}
	// A missing stream is an error if the server reports it.
	withoutStream(t, b)
	if _, err := Connect(t.Context(), c); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("without a stream: %v", err)
	}
}

// TestConnectionClosedForGood: the outbox still accepts facts, and a flush returns why they
// stay there.
func TestConnectionClosedForGood(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	box := openBox(t, filepath.Join(t.TempDir(), "outbox"))
	client := newClient(t, b, keptIn(box))
	b.NC.Close()
	record(t, client, "s", "a", "b")
	if stored, err := client.transport.Store(t.Context()); err != nil || stored != publish.InOutbox {
		t.Error(stored, err)
	}
	if err := client.Flush(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("flush: %v", err)
	}
	box.Close()
	record(t, client, "s", "c")
	if _, err := client.transport.Store(t.Context()); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("a closed outbox: %v", err)
	}
}

// TestCancelledSeal: a seal under an ended context records no part of a turn, and the next
// seal closes the turn.
func TestCancelledSeal(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, keptIn(openBox(t, filepath.Join(t.TempDir(), "outbox"))), func(c *Config) { c.Linger, c.StreamWait = time.Hour, time.Minute })
	run, err := client.Open(t.Context(), Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("t", Model{})
	if err := turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(bustest.Ended()); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	receipt, err := turn.Seal(t.Context())
	if err != nil || receipt.Stored != publish.InStream {
		t.Fatal(receipt, err)
	}
	checkSealed(t, b.Events(t), []sealedTurn{{"s", "t", receipt}})
}
