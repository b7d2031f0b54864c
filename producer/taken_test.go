package producer

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// Another program has stored messages under the ids of this producer's next events. Each
// event is still stored once, counted and logged.
func TestAnEventIsStoredUnderATakenMessageID(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"one by one": 1, "in a batch": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Start(t)
			var log bytes.Buffer
			c := DefaultConfig(b.NC)
			c.Linger = time.Minute // until all ids are in use
			c.Instance, c.Log = "known", slog.New(slog.NewTextHandler(&log, nil))
			client, err := Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for i := range n {
				e, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i", Reason: "superseded"}, schema.Correlation{SessionID: "s"})
				if err != nil {
					t.Fatal(err)
				}
				if i%3 != 0 {
					continue
				}
				taken++
				other := removal(t, fmt.Sprint("other-", i), "other").Binary()
				msg := &nats.Msg{Subject: other.Subject, Data: other.Data, Header: other.Header}
				if _, err := b.JS.PublishMsg(t.Context(), msg, jetstream.WithMsgID(e.MessageID())); err != nil {
					t.Fatal(err)
				}
			}
			if err := client.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			ids := make(map[string]int)
			for _, e := range b.Events(t) {
				if e.Tenant != "other" {
					ids[e.ID]++
				}
			}
			for id, times := range ids {
				if times != 1 {
					t.Errorf("event %s is stored %d times", id, times)
				}
			}
			if len(ids) != n || client.TakenIDs() != int64(taken) {
				t.Errorf("%d of %d events are stored, %d of %d ids are said to be taken", len(ids), n, client.TakenIDs(), taken)
			}
			if !strings.Contains(log.String(), "event=message_id_taken") {
				t.Errorf("it is not said: %s", log.String())
			}
		})
	}
}

// A message that this producer has already stored is not stored again.
func TestARepeatIsNoTakenMessageID(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	for range 2 {
		p := publish.New(b.JS, 0)
		for _, id := range []string{"a", "b", "c"} {
			if err := p.Publish(t.Context(), removal(t, id, "acme")); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.TakenIDs(); n != 0 {
			t.Errorf("%d ids are said to be taken", n)
		}
	}
	if n := len(b.Events(t)); n != 3 {
		t.Errorf("%d messages are stored", n)
	}
}

func removal(tb testing.TB, id, tenant string) *schema.Event {
	tb.Helper()
	e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: id, Reason: "superseded"}, id, "urn:test", time.Unix(1, 0), schema.Correlation{Tenant: tenant, SessionID: "s"})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}
