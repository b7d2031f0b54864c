package evidence_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkExport writes packs of a session of 10,000 events. The session consists of calls of ten
// facts, with thirty items in the window.
func BenchmarkExport(b *testing.B) {
	const events = 10_000
	f := newFixture(b)
	var batch []*schema.Event
	for n := range events / 10 {
		for i, fact := range call(n) {
			batch = append(batch, event(b, fmt.Sprintf("e%d.%d", n, i), "s1", fmt.Sprint("turn-", n/20), fact))
		}
	}
	f.write(b, batch...)
	c := f.config(b, pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "s1"})
	c.Target += "-0"
	before := cpu(b)
	for b.Loop() {
		made, err := evidence.Export(b.Context(), f.Ledger, c)
		if err != nil || made.Records != events {
			b.Fatal(made.Records, err)
		}
		b.StopTimer()
		if err := os.RemoveAll(c.Target); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-s/op")
}

// cpu returns the processor time of this process in seconds, without the server's.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// call returns the facts of a model call.
func call(n int) []schema.Fact {
	item := func(i int) string { return fmt.Sprintf("item-%08d", 100+i) }
	var candidates []schema.Ref
	var selected []schema.Candidate
	var blocks []schema.Block
	for i := range 30 {
		ref := schema.Ref(item(n - i))
		candidates, selected = append(candidates, ref), append(selected, schema.Candidate{ItemRef: ref, Tokens: new(int64(100))})
		blocks = append(blocks, schema.Block{Block: "b", ItemRefs: []schema.Ref{ref}, Layer: "history", Tokens: new(int64(100))})
	}
	id := fmt.Sprintf("call-%08d", n)
	facts := []schema.Fact{
		&schema.ItemAdded{Item: schema.Item{ItemID: item(n), ContextKind: "file_excerpt", Title: "a file", ContentMode: "ref", ContentRef: "x:y", TokenEstimate: new(int64(100))}},
		&schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "sel-" + id, SurfaceID: "surf", CallID: id, Candidates: candidates}, Selected: selected},
		&schema.AssemblyCreated{AssemblyID: "asm-" + id, CallID: id, Target: "model", OrderedBlocks: blocks},
		&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "inj-" + id, CallID: id, AssemblyID: "asm-" + id}},
		&schema.UsageRecorded{CallID: id, AssemblyID: "asm-" + id, TotalTokens: new(int64(3000))},
	}
	for i := range 5 {
		facts = append(facts, &schema.LogAppended{LogItemID: fmt.Sprintf("log-%d-%d", n, i), ItemType: "message", ItemRef: schema.Ref(item(n)), Position: new(int64(5*n + i))})
	}
	return facts
}
