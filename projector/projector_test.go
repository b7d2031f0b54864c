package projector_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/schema"
)

// A fixture is one test's own stream and database on real servers.
type fixture struct {
	js     jetstream.JetStream
	ledger *ledger.Ledger
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := embedded.StartShared(t)
	nc, err := nats.Connect(s.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projector.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &fixture{js, l}
}

func (f *fixture) publish(t *testing.T, e *schema.Event, messageID string) {
	t.Helper()
	m := e.Binary()
	m.Header[schema.MsgIDHeader] = []string{messageID}
	if _, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) project(t *testing.T) projector.Status {
	t.Helper()
	c := projector.DefaultConfig(f.js, f.ledger)
	c.UntilCaughtUp, c.Linger = true, 20*time.Millisecond
	c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return p.Status()
}

func logItem(t *testing.T, n int) *schema.Event {
	t.Helper()
	fact := &schema.LogAppended{LogItemID: fmt.Sprintf("item-%d", n), ItemType: "message", Position: new(int64(n))}
	e, err := schema.NewEvent(fact, fmt.Sprintf("event-%d", n), "urn:ctxledger:test", time.Date(2026, 11, 21, 9, 0, n, 0, time.UTC),
		schema.Correlation{Tenant: "acme", SessionID: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEveryMessageEndsInExactlyOnePlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 10 {
		f.publish(t, logItem(t, n), fmt.Sprint("first-", n))
	}
	f.publish(t, logItem(t, 3), "again") // the same event beyond the duplicate window
	conflict := logItem(t, 4)
	conflict.Data = logItem(t, 5).Data
	f.publish(t, conflict, "conflict")
	poison := logItem(t, 11)
	poison.Data = []byte(`{"event_type":"context.log.appended"`)
	f.publish(t, poison, "poison")
	unknown := logItem(t, 12)
	unknown.Type = "dev.ctxledger.context.invented.later.v1"
	f.publish(t, unknown, "unknown")

	want := projector.Status{Committed: 14, Events: 11, Quarantined: 2, Duplicates: 1}
	if got := f.project(t); got != want {
		t.Fatalf("projected %+v, want %+v", got, want)
	}
	if got := f.project(t); got.Committed != 14 || got.Events != 0 {
		t.Fatalf("second run projected %+v, want nothing new", got)
	}
}
