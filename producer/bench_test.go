package producer

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkPublish measures the publishing of a small event: validate, encode, queue. After
// every 10,000 events it stops the clock and waits for the stream. The sender and the
// server share the processors.
func BenchmarkPublish(b *testing.B) {
	bus := bustest.Start(b)
	p := publish.NewWith(bus.JS, publish.Options{Linger: time.Hour, MaxQueued: 1 << 30})
	e := *bustest.Removed(b, "x")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e.ID = strconv.Itoa(i)
		if err := p.Publish(b.Context(), &e); err != nil {
			b.Fatal(err)
		}
		if i++; i%10_000 == 0 {
			b.StopTimer()
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkRecord is BenchmarkPublish with the client's steps: id, encoding, guard,
// sequence.
func BenchmarkRecord(b *testing.B) {
	bus := bustest.Start(b)
	for _, guarded := range []bool{false, true} {
		b.Run(fmt.Sprintf("guard=%v", guarded), func(b *testing.B) {
			client := newClient(b, bus, func(c *Config) {
				c.MaxQueued = 1 << 30
				if guarded {
					guarding(b)(c)
				}
			})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := client.Record(b.Context(), &schema.ItemRemoved{ItemID: "item-7"}, schema.Correlation{SessionID: "s", TurnID: "t"}); err != nil {
					b.Fatal(err)
				}
				if i++; i%10_000 == 0 {
					b.StopTimer()
					if err := client.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
	}
}

func turnItems(n int) []window.Item {
	items := make([]window.Item, n)
	for i := range items {
		items[i] = window.Item{ID: fmt.Sprintf("item-%03d", i), Layer: "tool results", Kind: window.KindToolResult, Role: window.RoleTool, Tokens: 150}
		switch i % 4 {
		case 0:
			items[i].Kind, items[i].Layer, items[i].Role = window.KindMessage, "user", window.RoleUser
		case 1:
			items[i].Kind, items[i].Layer = window.KindRetrieved, "memory"
		}
	}
	return items
}

// BenchmarkPlanFacts makes the facts of a plan over 200 candidates.
func BenchmarkPlanFacts(b *testing.B) {
	items := turnItems(200)
	plan, err := window.Fit(items, window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}, window.DefaultPolicy(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		facts.PlanFacts(facts.Call{ID: "c1", Model: "gpt-5"}, items, plan)
	}
}

// recordTurn records a whole turn of one call, without its seal.
func recordTurn(t testing.TB, run *RunContext, id string, items []window.Item) *Turn {
	turn := run.Turn(id, Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}})
	call := turn.Call("call" + id)
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := call.Assemble(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Inject(t.Context(), asm, schema.InjectMessageHistory); err != nil {
		t.Fatal(err)
	}
	if err := call.Usage(t.Context(), plan, schema.ProviderUsage{}); err != nil {
		t.Fatal(err)
	}
	return turn
}

// BenchmarkTurn records a whole turn of 200 candidates: plan, facts, encoding, guard,
// queue. Tokens are already counted.
func BenchmarkTurn(b *testing.B) {
	bus := bustest.Start(b)
	run, err := newClient(b, bus, guarding(b)).Open(b.Context(), Run{Session: "s"})
	if err != nil {
		b.Fatal(err)
	}
	items := turnItems(200)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		turn := recordTurn(b, run, strconv.Itoa(i), items)
		b.StopTimer()
		if _, err := turn.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// TestTurnAllocations checks that a turn of 200 candidates and its seal allocate well below
// 1 MB. The test measures the whole process, so it does not run in parallel, and it takes
// the smallest of several turns. The limit leaves room for the race detector, under which
// pools forget.
func TestTurnAllocations(t *testing.T) {
	const mostBytes, mostAllocations = 800_000, 2_500
	run := open(t, keptBy(t, new(keep), guarding(t)), Run{Session: "s"})
	items := turnItems(200)
	n := 0
	record := func() {
		n++
		if _, err := recordTurn(t, run, strconv.Itoa(n), items).Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	record() // fills pools
	least := uint64(math.MaxUint64)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		record()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > mostBytes {
		t.Errorf("a turn allocates %d bytes, and at most %d are allowed", least, mostBytes)
	}
	if count := testing.AllocsPerRun(10, record); count > mostAllocations {
		t.Errorf("a turn makes %.0f allocations, and at most %d are allowed", count, mostAllocations)
	}
}
