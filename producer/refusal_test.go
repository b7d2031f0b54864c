package producer

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// wantLosses checks the stream for the sequences 1, 2, 3, …. The sequences in lost must be
// records of the loss, with a reason.
func wantLosses(t *testing.T, b *bustest.Bus, n int64, lost map[int64]string) {
	t.Helper()
	events := b.Events(t)
	if got := bySequence(t, events)["s"]; got != n {
		t.Errorf("%d events, not %d", got, n)
	}
	for _, e := range events {
		reason, isLost := lost[*e.Sequence]
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		dropped, ok := fact.(*schema.FactsDropped)
		if ok != isLost {
			t.Errorf("sequence %d is a %s", *e.Sequence, e.Type)
		}
		if !ok {
			continue
		}
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Error(violations)
		}
		at := [2]int64{*e.Sequence, *e.Sequence}
		if *dropped.Count != 1 || len(dropped.Sequences) != 1 || dropped.Sequences[0].Source != e.Source || dropped.Sequences[0].Ranges[0] != at ||
			!strings.Contains(dropped.Reason, reason) || e.TurnID != "t" || strings.Contains(string(e.Data), "xxxx") {
			t.Errorf("sequence %d: %s of turn %q", *e.Sequence, e.Data, e.TurnID)
		}
	}
}

// sendEach records six facts, including two of the other kind, and flushes.
func sendEach(t *testing.T, client *Client, other schema.Fact) {
	t.Helper()
	ids := schema.Correlation{SessionID: "s", TurnID: "t"}
	for i := range 6 {
		var fact schema.Fact = &schema.ItemRemoved{ItemID: fmt.Sprint("i", i)}
		if i == 1 || i == 4 {
			fact = other
		}
		if _, err := client.Record(t.Context(), fact, ids); err != nil {
			t.Fatal(err)
		}
	}
	ctx := bustest.Within(t, 50*time.Second)
	err := client.Flush(ctx)
	for err != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		err = client.Flush(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var lostTwo = func(reason string) map[int64]string { return map[int64]string{2: reason, 5: reason} }

// TestRefusedForThemselves: events that the stream refuses permanently do not stop the
// others.
func TestRefusedForThemselves(t *testing.T) {
	t.Parallel()
	large := &schema.ItemRemoved{ItemID: "large", Reason: strings.Repeat("x", 8_000)}
	for _, test := range []struct {
		name   string
		stream func(*jetstream.StreamConfig)
		fact   schema.Fact
		reason string
	}{
		{"too large for the stream", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 4_000 }, large, "context.item.removed: larger than the server takes"},
		{"no stream for the subject", func(c *jetstream.StreamConfig) {
			c.Subjects = []string{"ctx.v1.*.*.*.item.>", "ctx.v1.*.*.*.facts.dropped"}
		}, &schema.GrantIssued{Grant: schema.Grant{GrantID: "g"}}, "context.grant.issued: no stream takes its subject"},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, outbox %v", test.name, kept), func(t *testing.T) {
				t.Parallel()
				b := bustest.Start(t, test.stream)
				client := newClient(t, b, func(c *Config) {
					c.Linger = time.Hour
					if kept {
						c.Instance, c.Outbox = "", openBox(t, filepath.Join(t.TempDir(), "outbox"))
					}
				})
				sendEach(t, client, test.fact)
				wantLosses(t, b, 6, lostTwo(test.reason))
				if n := client.Dropped(); n != 2 {
					t.Errorf("%d dropped, not 2", n)
				}
				sendEach(t, client, test.fact) // already known
				if n := client.Dropped(); n != 4 {
					t.Errorf("%d dropped, not 4", n)
				}
			})
		}
	}
}

// TestSubjectNotPermitted: the server reports the error separately from the acknowledgment.
func TestSubjectNotPermitted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for an answer that the server does not give: run without -short")
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{{Username: "all", Password: "p"}, {Username: "some", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"ctx.v1.*.*.*.grant.>"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("no server")
	}
	url := func(user string) string { return strings.Replace(s.ClientURL(), "nats://", "nats://"+user+":p@", 1) }
	all, some := &bustest.Bus{}, &bustest.Bus{}
	all.Dial(t, url("all"))
	all.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: time.Minute})
	some.Dial(t, url("some"))
	client := newClient(t, some, func(c *Config) { c.Linger = time.Hour })
	sendEach(t, client, &schema.GrantIssued{Grant: schema.Grant{GrantID: "g"}})
	wantLosses(t, all, 6, lostTwo("context.grant.issued: the server does not permit its subject"))
}

// TestNothingIsGivenUpForAnOutage: while the stream accepts nothing, no event is dropped.
func TestNothingIsGivenUpForAnOutage(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, keptIn(openBox(t, filepath.Join(t.TempDir(), "outbox"))))
	if err := b.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	record(t, client, "s", "a", "b", "c")
	if err := client.Flush(t.Context()); !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("flush without a stream: %v", err)
	}
	b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true})
	ctx := bustest.Within(t, 20*time.Second)
	for client.Flush(ctx) != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	wantLosses(t, b, 3, nil)
	if n := client.Dropped(); n != 0 {
		t.Errorf("%d dropped", n)
	}
}
