package evidence_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPackOfTellings: a pack has the records of all tellings of a session. Its documents have each call,
// item and window once, whole, of the telling that counts. They name the other sources, and the values
// in which the records of a call differ.
func TestPackOfTellings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const log = "urn:ctxledger:import:codex:s"
	bare, text, wire := log+";r2;bare;0a", log+";r2;text;0b", "urn:ctxledger:capture:x"
	var all []*schema.Event
	say := func(source, turn string, fact schema.Fact) {
		e := event(t, fmt.Sprint("e", len(all)), "s", turn, fact)
		e.Source = source
		all = append(all, e)
	}
	n := func(v int64) *int64 { return &v }
	tell := func(source string, output int64) {
		say(source, "", &schema.ScopeOpened{RunID: "run-1", ScopeKind: "session"})
		for i := range int64(4) {
			say(source, "", &schema.ItemAdded{Item: schema.Item{ItemID: fmt.Sprint("i", i), Title: fmt.Sprint("item ", i)}})
		}
		window := func(id, base string, keep int64, first int64) *schema.AssemblyCreated {
			f := &schema.AssemblyCreated{AssemblyID: id, CallID: "call-" + id, Target: "model"}
			f.Fidelity = schema.FidelitySerialized
			if base != "" {
				f.BaseAssemblyID, f.Keep = base, &keep
			}
			for i := first; i < first+2; i++ {
				f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{Block: fmt.Sprint("b", i), ItemRefs: schema.Refs(fmt.Sprint("i", i)), Tokens: n(10)})
			}
			return f
		}
		for i, a := range []*schema.AssemblyCreated{window("a0", "", 0, 0), window("a1", "a0", 1, 2)} {
			say(source, fmt.Sprint("t", i), a)
			say(source, fmt.Sprint("t", i), &schema.UsageRecorded{
				CallID: a.CallID, ProviderMessageID: fmt.Sprint("msg", i), AssemblyID: a.AssemblyID, Usage: schema.ProviderUsage{UncachedInput: n(100), Output: n(output)},
			})
		}
	}
	tell(bare, 5)
	tell(text, 5)
	say(wire, "t0", &schema.UsageRecorded{CallID: "w0", ProviderMessageID: "msg0", Known: schema.Known{Fidelity: schema.FidelityWire}, Usage: schema.ProviderUsage{UncachedInput: n(100), Output: n(7)}})
	say(wire, "t1", &schema.UsageRecorded{CallID: "w1", ProviderMessageID: "msg1", Known: schema.Known{Fidelity: schema.FidelityWire}, Usage: schema.ProviderUsage{UncachedInput: n(100), Output: n(5)}})
	f.write(t, all...)

	scope := pack.Scope{Kind: pack.ScopeSession, Tenant: "acme", Session: "s"}
	c := f.config(t, scope)
	made, err := evidence.Export(t.Context(), f.Ledger, c)
	if err != nil {
		t.Fatal(err)
	}
	if made.Records != uint64(len(all)) {
		t.Errorf("the pack has %d records, want %d", made.Records, len(all))
	}
	f.check(t, c.Target, scope, all)
	f.verify(t, c.Target)
	read := func(file string, into any) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(c.Target, file))
		if err == nil && into != nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(file, err)
		}
		return text
	}
	var assemblies []struct {
		ID     string `json:"assembly_id"`
		Base   string `json:"base_assembly_id"`
		Blocks []struct {
			Block string `json:"block"`
		} `json:"ordered_blocks"`
	}
	read(pack.ContextFile("assemblies"), &assemblies)
	if got := fmt.Sprint(assemblies); got != "[{a0  [{b0} {b1}]} {a1  [{b0} {b2} {b3}]}]" {
		t.Errorf("the assemblies are %s", got)
	}
	var items []any
	if read(pack.ContextFile("items"), &items); len(items) != 4 {
		t.Errorf("%d items, want 4", len(items))
	}
	var graph struct {
		Nodes []struct {
			ID     string `json:"node_id"`
			Better string `json:"told_better_by"`
		}
		Edges []struct{ From, To, Relationship string }
	}
	read(pack.ProvenanceFile, &graph)
	better, count := 0, make(map[string]int)
	for _, node := range graph.Nodes {
		if node.Better == text {
			better++
		}
	}
	for _, e := range graph.Edges {
		kind, _, _ := strings.Cut(e.To, ":")
		count[strings.Split(e.From, ":")[0]+" "+e.Relationship+" "+kind]++
		if strings.HasPrefix(e.From, "usage:") || strings.HasPrefix(e.From, "assembly:") {
			count[e.From+" "+e.Relationship]++
		}
	}
	for what, want := range map[string]int{
		"usage:call-a0 generated_by": 1, "usage:w0 generated_by": 1, "assembly:a1 derived_from": 4, "record contradicts record": 2, "record supports record": 2,
	} {
		if count[what] != want {
			t.Errorf("%s: %d edges, want %d", what, count[what], want)
		}
	}
	if want := 9; better != want {
		t.Errorf("%d records are told better, want %d", better, want)
	}
	var sources struct {
		Contradictions []struct{ Notes string }
	}
	read(pack.SourceMapFile, &sources)
	for _, said := range sources.Contradictions {
		if said.Notes != "output is 5, and 7 in the record that counts" {
			t.Errorf("the records differ in %q", said.Notes)
		}
	}
	if len(sources.Contradictions) != 2 {
		t.Errorf("%d contradictions, want 2", len(sources.Contradictions))
	}
	var whole struct {
		Tellings []struct {
			Source, Counts string
			Records        int
		}
	}
	if read(pack.PackFile, &whole); fmt.Sprint(whole.Tellings) != fmt.Sprintf("[{%s %s 9}]", bare, text) {
		t.Errorf("the tellings are %v", whole.Tellings)
	}
	if page := string(read(pack.ReadmeFile, nil)); !strings.Contains(page, "9 records of the source `"+bare) || !strings.Contains(page, "4 records of 2 calls that another source recorded, too; 2 differ") {
		t.Errorf("the page for people lacks the tellings:\n%s", page)
	}

	// The pack of one turn has its base and no dangling reference, the pack without ids says as much.
	turn := f.config(t, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s", Turn: "t1"})
	if _, err := evidence.Export(t.Context(), f.Ledger, turn); err != nil {
		t.Fatal(err)
	}
	f.verify(t, turn.Target)
	hidden := f.config(t, scope)
	hidden.Header.RedactIDs = true
	if _, err := evidence.Export(t.Context(), f.Ledger, hidden); err != nil {
		t.Fatal(err)
	}
	f.verify(t, hidden.Target)
	if header, err := os.ReadFile(filepath.Join(hidden.Target, pack.HeaderFile)); err != nil || bytes.Contains(header, []byte("import")) || !bytes.Contains(header, []byte("retold")) {
		t.Errorf("the header without ids is %s, %v", header, err)
	}
}

// TestPackOfCutCalls: two slices of a log cut a call. The documents have its window once, from the slice
// that has more of it, and name the other record. Each call is counted once.
func TestPackOfCutCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const log = "urn:ctxledger:import:codex:s:from:"
	first, second := log+"r1;r3;bare;0a", log+"r2;r3;bare;0a"
	var all []*schema.Event
	say := func(source, turn string, fact schema.Fact) {
		e := event(t, fmt.Sprint("e", len(all)), "s", turn, fact)
		e.Source = source
		all = append(all, e)
	}
	n := func(v int64) *int64 { return &v }
	call := func(source, turn, id string, total, output int64, begun bool) {
		f := &schema.UsageRecorded{
			CallID: id, Model: "m", Usage: schema.ProviderUsage{UncachedInput: n(100), Output: &output},
			ProviderUsage: map[string]any{"total_token_usage": map[string]any{"input_tokens": total}},
			Layers:        []schema.LayerUsage{{Layer: "user", Tokens: n(total), Items: n(1)}},
		}
		if begun {
			f.Metadata = map[string]any{"begun_before_log": true}
		}
		say(source, turn, f)
	}
	say(second, "", &schema.ScopeOpened{RunID: "run-1", ScopeKind: "session"})
	call(second, "t1", "r2:call", 20, 4, true)
	call(second, "t2", "r3:call", 30, 5, false)
	say(first, "", &schema.ScopeOpened{RunID: "run-1", ScopeKind: "session"})
	call(first, "t0", "r0:call", 10, 5, false)
	call(first, "t1", "r1:call", 20, 5, false)
	f.write(t, all...)

	for _, scope := range []pack.Scope{
		{Kind: pack.ScopeSession, Tenant: "acme", Session: "s"}, {Kind: pack.ScopeTurn, Tenant: "acme", Session: "s", Turn: "t1"},
	} {
		c := f.config(t, scope)
		var windows []string
		c.Page = func(page io.Writer, a document.Account) error {
			for _, f := range a.Figures() {
				fmt.Fprintf(page, `<data data-figure=%q value=%q>%s</data>`, f.Name, f.Value, f.Value)
			}
			for _, w := range a.Windows {
				windows = append(windows, w.Turn+" "+w.Call)
			}
			return nil
		}
		if _, err := evidence.Export(t.Context(), f.Ledger, c); err != nil {
			t.Fatal(err)
		}
		f.verify(t, c.Target)
		text := func(file string) string {
			text, err := os.ReadFile(filepath.Join(c.Target, file))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want, calls := "[t2 r3:call t0 r0:call t1 r1:call]", "3 calls"
		if scope.Turn != "" {
			want, calls = "[t1 r1:call]", "1 call "
		}
		if got := fmt.Sprint(windows); got != want {
			t.Errorf("the windows of the %s are %s instead of %s", scope.Kind, got, want)
		}
		graph := text(pack.ProvenanceFile)
		for part, count := range map[string]int{`"usage:r2:call"`: 0, `"told_better_by":"` + first: 1, `"contradicts"`: 1} {
			if got := strings.Count(graph, part); got != count {
				t.Errorf("the provenance of the %s has %s %d times instead of %d", scope.Kind, part, got, count)
			}
		}
		if sources := text(pack.SourceMapFile); !strings.Contains(sources, "output is 4, and 5 in the record that counts") {
			t.Errorf("the source map of the %s does not name the difference: %s", scope.Kind, sources)
		}
		told := `{"source":"` + second + `","call_id":"r2:call","counts":"` + first + `","counts_call_id":"r1:call","records":1}`
		if whole := text(pack.PackFile); !strings.Contains(whole, `"tellings":[`+told+"]") {
			t.Errorf("the pack of the %s does not name the record: %s", scope.Kind, whole)
		}
		if page := text(pack.ReadmeFile); !strings.Contains(page, "1 record of calls that another part of the log tells") || !strings.Contains(page, "1 record of "+calls) {
			t.Errorf("the page for people of the %s lacks the record:\n%s", scope.Kind, page)
		}
		hidden := f.config(t, scope)
		hidden.Header.RedactIDs = true
		if _, err := evidence.Export(t.Context(), f.Ledger, hidden); err != nil {
			t.Fatal(err)
		}
		f.verify(t, hidden.Target)
	}
}
