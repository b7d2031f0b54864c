package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// note is the message of a log entry in a session of a tenant.
func (f *fixture) note(tenant, session string, number int, text string) schema.Message {
	f.t.Helper()
	e, err := schema.NewEvent(&schema.ItemAdded{Item: schema.Item{ItemID: fmt.Sprint("item-", number), ContextKind: "note", Title: text}}, fmt.Sprintf("%s-%s-%d", tenant, session, number), "urn:"+tenant,
		time.Unix(int64(number), 0), schema.Correlation{Tenant: tenant, SessionID: session})
	f.must(err)
	e.Sequence = new(int64(number + 1))
	return e.Binary()
}

// A tenant moves from the shared stream to two streams of its own. Its events of the shared stream count
// first: the new streams wait for them. A repeated event counts once, and a redacted value stays withheld.
func TestTenantMoves(t *testing.T) {
	t.Parallel()
	f := newFleetFixture(t, 1)
	const sessions, before, after = 4, 5, 5
	publish := func(first, count int) {
		for _, tenant := range []string{"acme", "umbrella"} {
			for s := range sessions {
				for number := first; number < first+count; number++ {
					f.publish(f.note(tenant, fmt.Sprint("session-", s), number, "fine"))
				}
			}
		}
	}
	publish(0, before)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.flush()
	done, err := streamio.EnsureTenant(t.Context(), f.js, streamio.TenantLayout{Tenant: "acme", Partitions: 2})
	f.must(err)
	t.Log(done)
	publish(before-1, after+1) // the first of these is a repeat
	f.publish(f.note("acme", "session-0", 100, projectortest.Secret))
	f.publish(f.note("umbrella", "session-0", 100, projectortest.Secret)) // not redacted by this tenant
	f.flush()

	streams, err := streamio.ReadStreams(t.Context(), f.js)
	f.must(err)
	names := streamio.StreamNames(streams)
	if len(names) != 3 || names[1] != "CTX_0-acme" || names[2] != "CTX_1-acme" {
		t.Fatal(names)
	}
	c := testConfig(f.js, f.ledger)
	c.Timing, c.Keys, c.Ring = quickTiming, projectortest.Keys(t), testLogRing
	one := c
	one.Stream = names[1]
	early, err := New(one)
	f.must(err)
	waiting, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- early.Run(waiting) }()
	f.await("the tenant's stream waits for the shared one", func() bool {
		return early.Health().Waiting == "wait for the shared streams: other"
	})
	if n := f.count("SELECT count() FROM events"); n != 0 {
		t.Errorf("%d events before the shared stream is projected", n)
	}
	stop()
	if err := await(t, ended, "the early projector ends"); err != nil {
		t.Error(err)
	}
	all := c
	all.UntilCaughtUp = true
	fleet, err := NewFleet(all, names)
	f.must(err)
	f.must(fleet.Run(t.Context()))

	for _, tenant := range []string{"acme", "umbrella"} {
		own := fmt.Sprintf("tenant = '%s' AND source = 'urn:%[1]s'", tenant)
		want := uint64(sessions * (before + after))
		if tenant == "umbrella" {
			want++
		}
		for _, final := range []string{"", " FINAL"} {
			if n := f.count("SELECT count() FROM events" + final + " WHERE " + own); n != want {
				t.Errorf("%s: %d events%s, not %d", tenant, n, final, want)
			}
		}
		if n := f.count("SELECT count() FROM duplicates WHERE " + own); n != sessions {
			t.Errorf("%s: %d duplicates", tenant, n)
		}
	}
	if n := f.count("SELECT uniqExact(incarnation) FROM events WHERE tenant = 'acme' AND session_id = 'session-0'"); n != 2 {
		t.Errorf("the session of acme has events of %d streams", n)
	}
	if n := f.count("SELECT uniqExact(incarnation) FROM events WHERE tenant = 'umbrella'"); n != 1 {
		t.Errorf("umbrella has events of %d streams", n)
	}
	if n := f.count("SELECT count() FROM quarantine WHERE tenant = 'acme' AND code = 'redaction_reintroduced'"); n != 1 {
		t.Errorf("%d messages of acme are refused for the redaction in the shared stream", n)
	}
	same := func(f *fixture) {
		t.Helper()
		r := f.rebuild()
		r.CompareOnly, r.Keys = true, projectortest.Keys(t)
		if got := f.rebuilt(r); len(got.From) != 3 || len(got.Compared.Differences) > 0 {
			t.Errorf("rebuilt %+v", got)
		}
	}
	same(f)

	// A restore gives the tenant's streams back, with their subjects.
	want := f.digests()
	g := newFleetFixture(t, 1)
	g.restored(g.restore(f.backedUp()))
	g.sameTables(want)
	again, err := streamio.ReadStreams(t.Context(), g.js)
	if g.must(err); !slices.Equal(again, streams) {
		t.Errorf("restored %v, want %v", again, streams)
	}
	g.publish(g.note("acme", "session-0", 200, "fine"))
	g.publish(g.note("umbrella", "session-0", 200, "fine"))
	g.flush()

	// An erasure reaches the tenant's events in all streams.
	live, err := NewFleet(c, names)
	f.must(err)
	end := f.start(live)
	e := f.erasure()
	e.Tenant = "acme"
	e.Subject, err = ledger.ParseSubject("session:session-1")
	f.must(err)
	erased, err := e.Run(t.Context())
	f.must(err)
	if erased.Messages() != before+after+1 { // with the repeat
		t.Errorf("erased %+v", erased)
	}
	f.must(end())
	same(f)

	// A retention of the tenant leaves the shared stream.
	f.must(retention.WritePolicy(t.Context(), f.leases(), retention.Policy{TenantBytes: map[string]uint64{"acme": 1}}))
	gone, err := f.retention().Run(t.Context())
	f.must(err)
	if len(gone.Streams) != 3 || gone.Streams[0].Messages != 0 || gone.Streams[0].Kept != retention.ByPolicy || gone.Streams[1].Kept == retention.ByPolicy || gone.Streams[2].Kept == retention.ByPolicy {
		t.Errorf("retained %+v", gone)
	}
	same(f)
}

// The shared stream does not know the events of a tenant's own streams, which come later.
func TestSharedStreamForgetsTheTenant(t *testing.T) {
	t.Parallel()
	f := newFleetFixture(t, 1)
	_, err := streamio.EnsureTenant(t.Context(), f.js, streamio.TenantLayout{Tenant: "acme", Partitions: 1})
	f.must(err)
	streams, err := streamio.ReadStreams(t.Context(), f.js)
	f.must(err)
	for i, s := range streams {
		stream, err := f.js.Stream(t.Context(), s.Name)
		f.must(err)
		var at siblings
		changed, err := at.open(t.Context(), f.js, stream)
		f.must(err)
		if !changed && i == 0 || at.brought(s.Incarnation) || at.several || at.brought(streams[1-i].Incarnation) != (i == 0) || (len(at.earlier) == 1) != (i == 1) {
			t.Errorf("%s: %+v", s.Name, at)
		}
	}
	if _, err := streamio.OpenSource(t.Context(), f.js, "CTX_0-acme", f.ledger, nil); !errors.Is(err, streamio.ErrNoStream) {
		t.Error(err)
	}
}
