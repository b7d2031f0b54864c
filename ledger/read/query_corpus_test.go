package read_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// A corpus builds a batch of facts, a second apart, with contiguous sequences per source and
// session.
type corpus struct {
	t         *testing.T
	batch     *ledger.Batch
	start     time.Time
	sequence  map[[2]string]int64
	source    string
	id        string // of the next facts; "" for one each
	unchecked bool
	again     uint64             // by how many events, and seconds, the facts are told later than they happened
	ids       schema.Correlation // of the next facts
}

func newCorpus(t *testing.T) *corpus {
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &corpus{
		t: t, start: start, sequence: make(map[[2]string]int64), source: "urn:test:agent",
		batch: &ledger.Batch{Range: ledger.Range{Incarnation: uuid.New(), First: 1, RecordedAt: start}},
	}
}

// add appends a fact and returns the event.
func (c *corpus) add(fact schema.Fact) *schema.Event {
	c.t.Helper()
	c.sequence[[2]string{c.source, c.ids.SessionID}]++
	return c.at(fact, c.sequence[[2]string{c.source, c.ids.SessionID}])
}

// at appends a fact with the given sequence, or without one for 0.
func (c *corpus) at(fact schema.Fact, sequence int64) *schema.Event {
	c.t.Helper()
	c.batch.Last++
	c.batch.Messages++
	when := c.start.Add(time.Duration(c.batch.Last) * time.Second)
	c.batch.RecordedAt = when
	id := cmp.Or(c.id, fmt.Sprintf("%s-%d", c.batch.Incarnation, c.batch.Last))
	e, err := schema.NewEvent(fact, id, c.source, when.Add(-time.Duration(c.again)*time.Second), c.ids)
	if err != nil {
		c.t.Fatal(err)
	}
	if sequence > 0 {
		e.Sequence = &sequence
	}
	if _, violations := schema.ValidateRecorded(e); len(violations) > 0 && !c.unchecked {
		c.t.Fatalf("%s: %v", fact.EventType(), violations)
	}
	c.batch.Add(e, fact, c.position())
	return e
}

// plant appends a fact that violates the contract.
func (c *corpus) plant(fact schema.Fact) {
	c.t.Helper()
	c.unchecked = true
	defer func() { c.unchecked = false }()
	c.add(fact)
}

func (c *corpus) position() ledger.Position {
	return ledger.Position{Incarnation: c.batch.Incarnation, StreamSeq: c.batch.Last, RecordedAt: c.batch.RecordedAt}
}

func (c *corpus) in(session, thread, turn, run string) *corpus {
	c.ids = schema.Correlation{
		Tenant: "acme", Agent: "coder", RuntimeID: "bench", SessionID: session, ThreadID: thread, TurnID: turn, RunID: run, RootRunID: "run-root",
	}
	if run != "run-root" {
		c.ids.ParentRunID = "run-root"
	}
	return c
}

// entry appends an entry of the item log.
func (c *corpus) entry(id, itemType, name, tool string, position, tokens int64) {
	before := c.ids.ToolCallID
	c.ids.ToolCallID = tool
	c.add(&schema.LogAppended{LogItemID: id, ItemType: itemType, Name: name, ToolCallID: tool, ItemRef: schema.Ref(id), Position: &position, Tokens: &tokens})
	c.ids.ToolCallID = before
}

func num(n int64) *int64              { return &n }
func float(f float64) *float64        { return &f }
func refs(ids ...string) []schema.Ref { return schema.Refs(ids...) }

// selection returns a selection with 3 candidates, one of them selected.
func selection(id, call string) *schema.SelectionCompleted {
	return &schema.SelectionCompleted{
		Selection: schema.Selection{SelectionID: id, SurfaceID: "surface-1", CallID: call, Candidates: refs("item-doc", "item-note", "item-big")},
		Selected:  []schema.Candidate{{ItemRef: "item-doc", Rank: num(1), Score: float(0.9), Tokens: num(100), Signals: map[string]float64{"recency": 0.8}}},
		Omitted: []schema.Candidate{
			{ItemRef: "item-note", Rank: num(2), Score: float(0.4), Tokens: num(40), Reason: schema.OmitLowRelevance, Signals: map[string]float64{"recency": 0.2}},
			{ItemRef: "item-big", Rank: num(3), Tokens: num(9000), Reason: schema.OmitBudgetLimit, Note: "does not fit"},
		},
		Policy: "policy-select",
	}
}

// runtimeSession adds a session of a runtime that records its decisions.
func (c *corpus) runtimeSession() {
	c.in("s1", "s1", "t1", "run-root")
	c.add(&schema.ScopeOpened{RunID: "run-root", RootRunID: "run-root", ScopeKind: "session", Depth: num(0)})
	c.add(&schema.GrantIssued{Grant: schema.Grant{GrantID: "grant-1", Grants: []string{"files:read-write"}, Effective: []string{"files:read-write"}, Issuer: "host"}})
	for _, item := range []schema.Item{
		{ItemID: "item-doc", ContextKind: "document", Title: "Doc", Layer: "retrieval", TokenEstimate: num(100), SourceRefs: []schema.SourceRef{{URI: "file:///doc", SourceKind: "file"}}},
		{ItemID: "item-note", ContextKind: "memory", TokenEstimate: num(40)},
		{ItemID: "item-big", ContextKind: "document", TokenEstimate: num(9000), SourceRefs: []schema.SourceRef{{URI: "file:///big", SourceKind: "file"}}},
		{ItemID: "item-secret", ContextKind: "tool_result", TokenEstimate: num(20), RedactionState: schema.RedactionMasked},
	} {
		c.add(&schema.ItemAdded{Item: item})
	}
	c.add(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: "surface-1", AvailableItemRefs: refs("item-doc", "item-note", "item-big")}})
	c.add(selection("selection-1", "call-1"))
	c.add(&schema.BudgetApplied{BudgetID: "budget-1", CallID: "call-1", Target: "model", Model: "m1", MaxTokens: num(1000), ReservedTokens: num(200), ActualTokens: num(700),
		TruncationRecords: []schema.Truncation{{ItemRef: "item-doc", Strategy: "tail", TokensBefore: num(150), TokensAfter: num(100)}}})
	c.add(&schema.PressureApplied{PressureID: "pressure-1", CallID: "call-1", Step: num(2), Name: "elide", Model: "m1", Outcome: schema.OutcomeApplied, TokensBefore: num(900), TokensAfter: num(700), LimitTokens: num(800)})
	c.window("assembly-1", "call-1", 300)
	c.call("call-1", "assembly-1", 370, 0, 300)
	c.add(&schema.RedactionApplied{Common: schema.Common{PolicyRefs: refs("policy-a", "policy-b")}, RedactionID: "redaction-1", TargetRef: "item-secret", RedactionState: schema.RedactionMasked, Reason: "secret"})
	first := gap("gap-1", "what is in big?", "alice", schema.StatusOpen)
	first.Severity, first.CandidateItemRefs = schema.SeverityHigh, refs("item-big")
	c.add(&schema.MissingDetected{Missing: first})
	asked := gap("gap-1", "what is in big?", "alice", schema.StatusRequested)
	asked.RequestedAction = "upload it"
	c.add(&schema.MissingRequested{Missing: asked})
	c.add(&schema.MissingDetected{Missing: gap("gap-2", "which branch?", "bob", schema.StatusOpen)})
	c.add(&schema.MissingResolved{Missing: gap("gap-2", "which branch?", "bob", schema.StatusResolved)})
	c.in("s1", "s1", "t2", "run-root")
	c.add(&schema.ElisionApplied{Elision: schema.Elision{PassID: "pass-1", Policy: "every_turn", Level: schema.ElideSimple, TokensSaved: num(250),
		ElidedItemRefs: []schema.Elided{{ItemRef: "item-secret", TokensBefore: num(300), TokensAfter: num(50)}}}})
	c.window("assembly-2", "call-2", 50)
	c.call("call-2", "assembly-2", 210, 100, 110)
	c.in("s1", "s1-child", "t2", "run-child")
	c.add(&schema.ScopeOpened{RunID: "run-child", ParentRunID: "run-root", RootRunID: "run-root", ScopeKind: "subagent", Depth: num(1)})
	wanted := []string{"files:read", "web:read"}
	c.add(&schema.GrantNarrowed{Grant: schema.Grant{GrantID: "grant-2", Grants: []string{"files:read-write"}, Requested: &wanted, Effective: []string{"files:read"}, Issuer: "run-root", Rule: "narrow"}})
	c.add(&schema.ResourceAccessed{Resource: schema.Resource{BindingID: "r1", Name: "files"}, Operation: "write", Path: "/etc/passwd", Allowed: false})
	c.call("call-child", "", 50, 0, 50)
}

func gap(id, question, owner string, status schema.MissingStatus) schema.Missing {
	return schema.Missing{MissingID: id, Question: question, RequestedFrom: schema.Ref(owner), Status: status, RequestedAction: "say it", UserSummary: "something is not known"}
}

// window assembles and injects a window of three blocks. The size of the middle block is given, and
// its content changes with the size.
func (c *corpus) window(assembly, call string, tokens int64) {
	c.add(&schema.AssemblyCreated{AssemblyID: assembly, CallID: call, Target: "model", OrderedBlocks: []schema.Block{
		{Block: "system", Layer: "system", Role: "system", Tokens: num(100), Digest: "sys", Position: num(0)},
		{Block: "result", Layer: "tool_results", Role: "tool", Tokens: &tokens, Digest: fmt.Sprint("result", tokens), ItemRefs: refs("item-secret"), Position: num(1)},
		{Block: "doc", Layer: "retrieval", Role: "user", Tokens: num(60), Digest: "doc" + assembly, ItemRefs: refs("item-doc"), Position: num(2)},
	}})
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "inject-" + assembly, CallID: call, AssemblyID: assembly, Target: "model", InjectionKind: "window", ItemRefs: refs("item-doc", "item-secret")}})
}

func (c *corpus) call(call, assembly string, uncached, read, written int64) {
	c.add(&schema.UsageRecorded{CallID: call, Model: "m1", AssemblyID: assembly, LineageID: "lineage-" + c.ids.ThreadID, Estimator: "o200k",
		Layers: []schema.LayerUsage{{Layer: "system", Tokens: num(100), Items: num(1)}, {Layer: "tool_results", Tokens: num(200), Items: num(1)}},
		Usage:  schema.ProviderUsage{UncachedInput: &uncached, CacheRead: &read, CacheWrite5m: &written, Output: num(10)}})
}

// importedSession adds a session in the form of the log importer.
func (c *corpus) importedSession() {
	c.importedAs("urn:test:import", 0)
}

// importedAs adds the facts that importedSession adds, from a source, with more tokens for each result.
func (c *corpus) importedAs(source string, more int64) {
	c.source = source
	defer func() { c.source = "urn:test:agent" }()
	c.in("s2", "s2", "u1", "s2")
	c.ids.RootRunID, c.ids.ParentRunID = "s2", ""
	c.entry("m0", "message", "", "", 0, 10)
	usage := func(call string, first, next, uncached, read, output int64) *schema.UsageRecorded {
		return &schema.UsageRecorded{CallID: call, Model: "m1", WindowFirst: &first, WindowNext: &next, LineageID: "s2",
			Usage: schema.ProviderUsage{UncachedInput: &uncached, CacheRead: &read, CacheWrite: num(5), Output: &output}}
	}
	c.add(usage("i1", 0, 1, 15, 0, 3))
	c.entry("f1", "function_call", "Bash", "tool-1", 1, 5)
	c.entry("r1", "function_call_output", "Bash", "tool-1", 2, 500+more)
	c.entry("f2", "function_call", "Read", "tool-2", 3, 5)
	c.add(usage("i2", 0, 4, 505, 10, 1))
	c.at(usage("i2", 0, 4, 505, 10, 7), 6) // a second import, after the log had grown
	c.add(&schema.ElisionApplied{
		Common: schema.Common{Metadata: map[string]any{"line": 33, "trigger": "auto", "pre_tokens": 400, "compacted_tool_ids": 1, "record_uuid": "micro-1"}},
		Elision: schema.Elision{PassID: "micro-1", Policy: "claude-code:microcompact", Trigger: "auto", TokensSaved: num(450),
			ElidedItemRefs: []schema.Elided{{ItemRef: "tool-1:result", ToolCallID: "tool-1"}}}})
	c.add(&schema.CompactionCompleted{
		Common: schema.Common{Metadata: map[string]any{"line": 40, "trigger": "manual", "pre_tokens": 520, "logical_parent_uuid": "parent-1"}},
		Compaction: schema.Compaction{CompactionID: "compact-1", Scope: "thread", SummaryRef: "sum-1", SourceItemRefs: refs("m0", "f1", "r1", "f2"), Trigger: schema.TriggerManual,
			SourceWindow: &schema.SourceWindow{ThreadID: "s2", FirstPosition: num(0), LastPosition: num(3)}, TokensBefore: num(520)}})
	c.entry("sum-item", "message", "", "", 4, 20)
	c.add(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "sum-1", SummaryKind: "thread_summary", CoversThroughPosition: num(3), SourceItemRefs: refs("m0"), Tokens: num(20)}})
	c.add(usage("i3", 4, 5, 25, 5, 2))
	c.entry("f3", "function_call", "Bash", "tool-3", 5, 5)
	c.entry("r3", "function_call_output", "Bash", "tool-3", 6, 30+more)
	c.add(usage("i4", 4, 7, 40+more, 30, 2))
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compact-2", Scope: "thread", SummaryRef: "sum-2", SourceItemRefs: refs("sum-item", "f3", "r3"),
		SourceWindow: &schema.SourceWindow{ThreadID: "s2", FirstPosition: num(4), LastPosition: num(6)}}})
}

// write stores the corpus in a new ledger.
func (c *corpus) write() *ledger.Ledger {
	c.t.Helper()
	l := ledgertest.Open(c.t)
	if err := l.Write(c.t.Context(), c.batch, 1); err != nil {
		c.t.Fatal(err)
	}
	return l
}

// rows runs a statement and returns its rows as text, one slice per row.
func rows(t *testing.T, l *ledger.Ledger, sql string, parameters map[string]string) [][]string {
	t.Helper()
	r, err := read.Of(l).Query(t.Context(), sql, parameters, read.DefaultLimits())
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	defer r.Close()
	var list [][]string
	for r.Next() {
		var row []string
		for _, v := range r.Values() {
			switch list := v.(type) {
			case nil:
				row = append(row, "NULL")
			case []*int64: // fmt would print addresses
				text, err := json.Marshal(list)
				if err != nil {
					t.Fatal(err)
				}
				row = append(row, string(text))
			default:
				row = append(row, fmt.Sprint(v))
			}
		}
		list = append(list, row)
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return list
}
