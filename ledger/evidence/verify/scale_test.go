package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkVerify verifies a pack of CTXLEDGER_RECORDS records, 10000 by default. BenchmarkVerify
// reports the CPU time per record and the peak memory of the process.
func BenchmarkVerify(b *testing.B) {
	n := number(b, recordsVariable, 10000)
	r := called(b, filepath.Join(b.TempDir(), "pack"), n)
	options := Options{Keys: []note.Verifier{r.key.public}}
	var size, documents int64
	p, err := pack.Open(r.target, pack.DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range p.Files() {
		size += e.Size
		lines, err := p.Lines(e.Path)
		r.must(err)
		for err == nil && path.Ext(e.Path) == ".json" {
			if _, err = lines.Next(); err == nil {
				documents++
			}
		}
		r.must(lines.Close())
	}
	r.must(p.Close())
	b.SetBytes(size)
	forget(r)
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // the setting of `ctxledger evidence verify`
	b.ResetTimer()
	before := cpu(b)
	for b.Loop() {
		report, err := Pack(context.Background(), r.target, options)
		if err != nil || report.Failed() {
			b.Fatal(err, report)
		}
	}
	b.ReportMetric((cpu(b)-before)/float64(b.N)/float64(n)*1e6, "cpu-µs/record")
	b.ReportMetric(float64(size)/float64(n), "B/record")
	b.ReportMetric(float64(documents)/float64(n), "documents/record")
	b.ReportMetric(peak(b), "peak-MB")
}

// called makes a pack of a sealed session of n records, call by call.
func called(b *testing.B, target string, n int) *rig {
	r := newRig(b, target, false, sessionScope(), 1)
	s := newSession(b, 3)
	s.ids.RuntimeID, s.ids.ThreadID = "claude-code", "7d0c8a9e-3b1f-4f2a-9c52-6a1b0e4d7f13"
	s.ids.RunID, s.ids.RootRunID = s.ids.ThreadID, s.ids.ThreadID
	r.begin()
	for call := 0; s.sequence < int64(n)-1; call++ {
		s.ids.TurnID = fmt.Sprintf("b2f6c1d4-55aa-4e0b-8d21-%012d", call/8)
		for _, fact := range factsOf(call) {
			if s.sequence < int64(n)-1 {
				r.record(s.event(fact))
			}
		}
	}
	r.record(s.seal("session"))
	r.finish()
	return r
}

// factsOf returns the facts of a model call. Seven items are new, each with its entry in the log.
// Thirty-six items are in the window.
func factsOf(call int) (facts []schema.Fact) {
	const added, window = 7, 36
	id := func(i int) string { return fmt.Sprintf("toolu_01%016d:result", i) }
	for i := range added {
		position := int64(call*added + i)
		common := schema.Common{Metadata: map[string]any{"line": position, "record_uuid": fmt.Sprintf("0b9d5c1e-77f0-4a8b-b3f4-%012d", position)}}
		item := schema.Item{
			ItemID: id(int(position)), ContextKind: "tool_result", Title: "Read result", ContentMode: schema.ContentRef, ContentRef: schema.Ref(fmt.Sprintf("%s#%d", testSource, position)),
			ContentDigest: fmt.Sprintf("sha256:%064d", position), MimeType: "text/markdown", TokenEstimate: new(int64(900)), Estimator: "estimate:o200k_base", ByteSize: new(int64(3100)),
			Visibility: []string{"model"}, Layer: "tool_results", Role: "tool",
			SourceRefs: []schema.SourceRef{{SourceID: fmt.Sprintf("source-%d", position%500), URI: fmt.Sprintf("file:///home/dev/workspace/cli/internal/store/file_%d.go", position%500), SourceKind: "file"}},
		}
		facts = append(facts, &schema.ItemAdded{Common: common, Item: item}, &schema.LogAppended{
			Common: common, LogItemID: item.ItemID, Position: &position, ItemType: "function_call_output", Role: "tool", Name: "Read", ItemRef: schema.Ref(item.ItemID),
			ParentRef: schema.Ref(id(int(position - 1))), Tokens: item.TokenEstimate, ByteSize: item.ByteSize, ContentDigest: item.ContentDigest,
		})
	}
	name := fmt.Sprintf("msg_01%016d", call)
	selection := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "sel-" + name, SurfaceID: "surface", CallID: name}}
	assembly := &schema.AssemblyCreated{AssemblyID: "asm-" + name, CallID: name, Target: "model"}
	for i := range window {
		ref := schema.Ref(id(max(0, call*added+added-1-i)))
		if slices.Contains(selection.Candidates, ref) {
			break
		}
		selection.Candidates = append(selection.Candidates, ref)
		selection.Selected = append(selection.Selected, schema.Candidate{ItemRef: ref, Rank: new(int64(i + 1)), Tokens: new(int64(900))})
		assembly.OrderedBlocks = append(assembly.OrderedBlocks, schema.Block{Block: "history", ItemRefs: []schema.Ref{ref}, Layer: "tool_results", Tokens: new(int64(900))})
	}
	return append(facts, selection, assembly, &schema.InjectionApplied{Injection: schema.Injection{InjectionID: "inj-" + name, CallID: name, AssemblyID: assembly.AssemblyID}},
		&schema.UsageRecorded{CallID: name, AssemblyID: assembly.AssemblyID, Model: "claude-opus-4-5-20251101", TotalTokens: new(int64(27000))})
}

// cpu returns the processor time of this process in seconds.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// forget releases the memory of making the pack, so [peak] measures only the verification.
func forget(r *rig) {
	*r = rig{target: r.target}
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // on other systems, the peak includes making the pack
}

// peak returns the largest resident set of the process so far.
func peak(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
	return float64(n) / 1024
}
