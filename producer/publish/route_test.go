package publish

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// A producer that starts before the streams finds them when they are created.
func TestPartitionsComeLater(t *testing.T) {
	t.Parallel()
	b := bustest.StartPartitions(t, 1)
	if err := b.JS.DeleteStream(t.Context(), schema.EventStream); err != nil {
		t.Fatal(err)
	}
	p := New(b.JS, time.Millisecond)
	publishAll(t, p, "a", "b")
	if err := p.Flush(bustest.Within(t, time.Second)); err == nil {
		t.Fatal("there is no stream")
	}
	for _, s := range schema.Partitions(2).EventStreams() {
		b.CreateStream(t, bustest.Partition(s))
	}
	flush(t, p)
	name := schema.Partitions(2).Stream(schema.Partitions(2).Of(schema.SubjectOf(bustest.Removed(t, "a")).String())).Name
	if got := b.EventsIn(t, name); len(got) != 2 {
		t.Errorf("%d events in %s", len(got), name)
	}
}

// BenchmarkPublishToPartitions measures the cost of an event with more streams, which have
// 256 filters in total.
func BenchmarkPublishToPartitions(b *testing.B) {
	for _, n := range []schema.Partitions{1, 4, 16, 64} {
		b.Run(n.String(), func(b *testing.B) {
			bus := bustest.StartPartitions(b, n)
			sessions := bustest.SessionNames(400)
			p := New(bus.JS, 0)
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

// JetStream limits the open batches of a stream. A tenant with a stream of its own uses up only its own.
func TestOpenBatchesOfATenant(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	one := schema.Partitions(1)
	shared, own := bustest.Partition(one.Stream(0)), bustest.Partition(one.StreamOf("acme", 0))
	shared.Subjects = one.SubjectsOf(0, "umbrella")
	b.Update(t, shared)
	b.CreateStream(t, own)
	message := func(tenant, id string) *nats.Msg {
		m := nats.NewMsg(schema.Subject{Tenant: tenant, Runtime: "r", Bucket: "p00", Object: "item", Verb: "added"}.String())
		m.Header.Set(schema.MsgIDHeader, tenant+id)
		return m
	}
	for i := range 50 {
		m := message("acme", fmt.Sprint("open-", i))
		m.Header.Set(jetstreamext.BatchIDHeader, fmt.Sprint("batch-", i))
		m.Header.Set(jetstreamext.BatchSeqHeader, "1")
		if _, err := b.NC.RequestMsgWithContext(bustest.Within(t, 5*time.Second), m); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, want := range map[string]error{"acme": jetstreamext.ErrAtomicPublishTooManyInflight, "umbrella": nil} {
		_, err := jetstreamext.PublishMsgBatch(bustest.Within(t, 5*time.Second), b.JS, []*nats.Msg{message(tenant, "1"), message(tenant, "2")})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", tenant, err, want)
		}
	}
}
