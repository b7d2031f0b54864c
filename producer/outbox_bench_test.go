package producer

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// kinds of keeping, from none to the default.
var kinds = []struct {
	name string
	open func(testing.TB) publish.Outbox
}{
	{"memory", func(testing.TB) publish.Outbox { return nil }},
	{"outbox without sync", func(t testing.TB) publish.Outbox { return benchBox(t, outbox.Options{NoSync: true}) }},
	{"outbox", func(t testing.TB) publish.Outbox { return benchBox(t, outbox.DefaultOptions()) }},
}

func benchBox(t testing.TB, options outbox.Options) publish.Outbox {
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox"), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// BenchmarkHandOver measures the caller's cost of Publish, with and without an outbox,
// while the background works. The clock is stopped while queued events are stored.
func BenchmarkHandOver(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			bus := bustest.Start(b)
			p := publish.NewWith(bus.JS, publish.Options{Linger: time.Hour, MaxQueued: 1 << 30})
			if box := kind.open(b); box != nil {
				p.KeepIn(box)
			}
			e := *bustest.Removed(b, "x")
			b.ReportAllocs()
			for i := 1; b.Loop(); i++ {
				e.ID = strconv.Itoa(i)
				if err := p.Publish(b.Context(), &e); err != nil {
					b.Fatal(err)
				}
				if i%10_000 == 0 {
					b.StopTimer()
					if err := p.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkThroughput measures the time of an event through queue, outbox and stream, in
// batches of 1,000.
func BenchmarkThroughput(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			bus := bustest.Start(b)
			p := publish.NewWith(bus.JS, publish.Options{Linger: time.Hour, MaxQueued: 8_000, WaitForRoom: true})
			if box := kind.open(b); box != nil {
				p.KeepIn(box)
			}
			message := bustest.Removed(b, "x").Binary()
			b.ResetTimer()
			for i := range b.N { // not Loop, which would not time the Flush
				m := schema.Message{Subject: message.Subject, Data: message.Data, Header: make(map[string][]string, len(message.Header))}
				for name, values := range message.Header {
					m.Header[name] = values
				}
				m.Header[schema.MsgIDHeader] = []string{strconv.Itoa(i)}
				if err := p.Send(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkSeal measures the time of a turn of ten facts, from the first fact to the return
// of Seal.
func BenchmarkSeal(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			bus := bustest.Start(b)
			client := newClient(b, bus, func(c *Config) { c.Instance, c.Outbox, c.StreamWait = "", kind.open(b), time.Minute })
			run, err := client.Open(b.Context(), Run{Session: "s"})
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				turn := run.Turn(fmt.Sprint(i), Model{})
				for range 9 {
					if err := turn.Record(b.Context(), &schema.ItemRemoved{ItemID: "i"}); err != nil {
						b.Fatal(err)
					}
				}
				if receipt, err := turn.Seal(b.Context()); err != nil || receipt.Stored != publish.InStream {
					b.Fatal(receipt, err)
				}
			}
		})
	}
}
