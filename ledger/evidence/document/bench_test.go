package document_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// turnOf returns the facts of a call with thirty items in its window. The newest item is new.
func turnOf(n int) []schema.Fact {
	item := func(i int) string { return fmt.Sprintf("item-%08d", 100+i) }
	var candidates []schema.Ref
	var selected []schema.Candidate
	var blocks []schema.Block
	for i := range 30 {
		ref := schema.Ref(item(n - i))
		candidates, selected = append(candidates, ref), append(selected, schema.Candidate{ItemRef: ref, Tokens: new(int64(100))})
		blocks = append(blocks, schema.Block{Block: "b", ItemRefs: []schema.Ref{ref}, Layer: "history", Tokens: new(int64(100))})
	}
	call := fmt.Sprintf("call-%08d", n)
	return []schema.Fact{
		&schema.ItemAdded{Item: schema.Item{ItemID: item(n), ContextKind: "file_excerpt", Title: "a file", ContentMode: "ref", ContentRef: "x:y", TokenEstimate: new(int64(100)), Visibility: []string{"model"}}},
		&schema.LogAppended{LogItemID: "log-" + item(n), ItemType: "message", ItemRef: schema.Ref(item(n)), Position: new(int64(n))},
		&schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "sel-" + call, SurfaceID: "surf", CallID: call, Candidates: candidates}, Selected: selected},
		&schema.AssemblyCreated{AssemblyID: "asm-" + call, CallID: call, Target: "model", OrderedBlocks: blocks},
		&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "inj-" + call, CallID: call, AssemblyID: "asm-" + call}},
		&schema.UsageRecorded{CallID: call, AssemblyID: "asm-" + call, TotalTokens: new(int64(3000))},
		&schema.LogAppended{LogItemID: "say-" + item(n), ItemType: "message", Position: new(int64(n))},
		&schema.ResourceAccessed{Resource: schema.Resource{BindingID: "repo"}, Operation: "read", Allowed: true},
	}
}

// BenchmarkDerive derives the documents of one call of eight facts per iteration. BenchmarkDerive
// reports the bytes written, and the bytes in memory at the end.
func BenchmarkDerive(b *testing.B) {
	var written int64
	builder, err := document.New(header(), func(document.Part) io.Writer { return counting{&written} })
	if err != nil {
		b.Fatal(err)
	}
	at, records := int64(0), uint64(0)
	for b.Loop() {
		for _, fact := range turnOf(int(at)) {
			records++
			r := event(b, int64(records), fact, schema.Correlation{TurnID: fmt.Sprint("turn-", at/10), RunID: "run-1", ThreadID: "th"})
			if err := builder.Add(0, &pack.Record{LogIndex: r.LogIndex, StreamSeq: r.StreamSeq, Event: r.Event}); err != nil {
				b.Fatal(err)
			}
		}
		at++
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/float64(records), "held-B/record")
	b.ReportMetric(float64(written)/float64(records), "written-B/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
	if _, err := builder.Close(); err != nil {
		b.Fatal(err)
	}
}

type counting struct{ n *int64 }

func (c counting) Write(p []byte) (int, error) {
	*c.n += int64(len(p))
	return len(p), nil
}
