package producer

import (
	"fmt"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// A producer that starts before the streams finds them when they come.
func TestPartitionsComeLater(t *testing.T) {
	t.Parallel()
	b := startPartitions(t, 1)
	if err := b.js.DeleteStream(t.Context(), schema.EventStream); err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(b.js, time.Millisecond)
	publishAll(t, p, "a", "b")
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
