package publish

import (
	"fmt"
	"testing"
	"time"

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
