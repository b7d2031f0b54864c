package projector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// story is the facts of two producers with sequences and one without, about one session, in
// order. Some facts are repeated.
type story struct {
	t      testing.TB
	at     time.Time
	ids    schema.Correlation
	source string
	used   map[string]int64
	events []*schema.Event
}

func newStory(t testing.TB) *story {
	s := &story{t: t, at: time.Date(2026, 10, 31, 23, 50, 0, 0, time.UTC), source: "urn:test:agent", used: make(map[string]int64)}
	s.in("thread-1", "turn-1", "run-1")
	return s
}

func (s *story) in(thread, turn, run string) {
	s.ids = schema.Correlation{Tenant: "acme", Agent: "coder", SessionID: "session-1", ThreadID: thread, TurnID: turn, RunID: run, RootRunID: "run-1"}
	if run != "run-1" {
		s.ids.ParentRunID = "run-1"
	}
}

// tell adds a fact, a minute after the fact before. The month ends among the first facts.
func (s *story) tell(fact schema.Fact) *schema.Event {
	s.t.Helper()
	s.at = s.at.Add(time.Minute)
	e, err := schema.NewEvent(fact, fmt.Sprintf("fact-%d", len(s.events)), s.source, s.at, s.ids)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.source != "urn:test:plain" {
		s.used[s.source]++
		e.Sequence = new(s.used[s.source])
	}
	if _, violations := schema.Validate(e); len(violations) > 0 {
		s.t.Fatalf("%s: %v", fact.EventType(), violations)
	}
	s.events = append(s.events, e)
	return e
}

func (s *story) entry(id, itemType, tool string, position int64) {
	s.ids.ToolCallID = tool
	defer func() { s.ids.ToolCallID = "" }()
	s.tell(&schema.LogAppended{LogItemID: id, ItemType: itemType, ToolCallID: tool, ItemRef: schema.Ref(id), Position: &position, Tokens: new(int64(10))})
}

func (s *story) call(id string, window, read int64) {
	s.tell(&schema.UsageRecorded{CallID: id, Model: "m", WindowFirst: new(int64(0)), WindowNext: &window, LineageID: "lineage-" + s.ids.ThreadID,
		Layers: []schema.LayerUsage{{Layer: "system", Tokens: new(int64(100))}, {Layer: "history", Tokens: new(window)}},
		Usage:  schema.ProviderUsage{UncachedInput: new(window), CacheRead: &read, CacheWrite5m: new(int64(5)), Output: new(int64(7))}})
}

func (s *story) window(id, call string, changed int64) {
	s.tell(&schema.AssemblyCreated{AssemblyID: id, CallID: call, Target: "model", OrderedBlocks: []schema.Block{
		{Block: "system", Layer: "system", Role: "system", Tokens: new(int64(100)), Digest: "sys", Position: new(int64(0))},
		{Block: "doc", Layer: "retrieval", Role: "user", Tokens: &changed, Digest: fmt.Sprint("doc", changed), ItemRefs: schema.Refs("item-doc"), Position: new(int64(1))},
	}})
	s.tell(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "injection-" + id, CallID: call, AssemblyID: id, Target: "model", InjectionKind: "window", ItemRefs: schema.Refs("item-doc")}})
}

func (s *story) gap(id string, status schema.MissingStatus) schema.Missing {
	return schema.Missing{MissingID: id, Question: "what is in " + id + "?", RequestedFrom: "alice", Status: status, RequestedAction: "say it", UserSummary: "something is missing"}
}

// whole tells a session in which facts of every kind refer to other facts.
func (s *story) whole() []*schema.Event {
	s.tell(&schema.ScopeOpened{RunID: "run-1", RootRunID: "run-1", ScopeKind: "session"})
	for _, id := range []string{"item-doc", "item-note", "item-big"} {
		s.tell(&schema.ItemAdded{Item: schema.Item{ItemID: id, ContextKind: "document", Title: "Title of " + id, Layer: "retrieval", TokenEstimate: new(int64(50))}})
	}
	s.tell(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: "surface-1", AvailableItemRefs: schema.Refs("item-doc", "item-note", "item-big")}})
	s.tell(&schema.SelectionCompleted{
		Selection: schema.Selection{SelectionID: "selection-1", SurfaceID: "surface-1", CallID: "call-1", Candidates: schema.Refs("item-doc", "item-note", "item-big")},
		Selected:  []schema.Candidate{{ItemRef: "item-doc", Rank: new(int64(1)), Tokens: new(int64(50))}},
		Omitted: []schema.Candidate{
			{ItemRef: "item-note", Rank: new(int64(2)), Reason: schema.OmitLowRelevance}, {ItemRef: "item-big", Rank: new(int64(3)), Reason: schema.OmitBudgetLimit},
		}})
	s.tell(&schema.BudgetApplied{BudgetID: "budget-1", CallID: "call-1", Target: "model", MaxTokens: new(int64(1000)), ActualTokens: new(int64(700))})
	s.tell(&schema.PressureApplied{PressureID: "pressure-1", CallID: "call-1", Step: new(int64(2)), Name: "elide", Outcome: schema.OutcomeApplied, TokensBefore: new(int64(900)), TokensAfter: new(int64(700))})
	s.entry("log-0", "message", "", 0)
	s.entry("log-1", "function_call", "tool-1", 1)
	s.entry("log-2", "function_call_output", "tool-1", 2)
	s.window("assembly-1", "call-1", 50)
	s.call("call-1", 3, 0)
	s.tell(&schema.ItemUpdated{Item: schema.Item{ItemID: "item-doc", ContextKind: "document", Title: "A newer title", Layer: "retrieval", TokenEstimate: new(int64(60))}})

	// Two producers report the same gaps.
	s.tell(&schema.MissingDetected{Missing: s.gap("gap-1", schema.StatusOpen)})
	s.tell(&schema.MissingDetected{Missing: s.gap("gap-2", schema.StatusOpen)})
	s.tell(&schema.MissingRequested{Missing: s.gap("gap-2", schema.StatusRequested)})
	s.source = "urn:test:host"
	s.tell(&schema.MissingRequested{Missing: s.gap("gap-1", schema.StatusRequested)})
	s.tell(&schema.MissingResolved{Missing: s.gap("gap-1", schema.StatusResolved)})
	s.tell(&schema.RedactionApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:secrets")}, RedactionID: "redaction-1", TargetRef: "item-note", RedactionState: schema.RedactionMasked, Reason: "secret"})
	s.tell(&schema.GrantIssued{Grant: schema.Grant{GrantID: "grant-1", Grants: []string{"files:read"}, Effective: []string{"files:read"}, Issuer: "host"}})
	s.source = "urn:test:agent"

	s.in("thread-1", "turn-2", "run-1")
	s.tell(&schema.ElisionApplied{Elision: schema.Elision{PassID: "pass-1", Policy: "every_turn", Level: schema.ElideSimple, TokensSaved: new(int64(8)),
		ElidedItemRefs: []schema.Elided{{ItemRef: "log-2", ToolCallID: "tool-1", TokensBefore: new(int64(10)), TokensAfter: new(int64(2))}}}})
	s.window("assembly-2", "call-2", 60)
	s.call("call-2", 3, 100)
	s.entry("log-3", "message", "", 3)
	s.call("call-3", 4, 90)
	s.compact("1", 0, 1, "log-0", "log-1")
	s.call("call-4", 4, 10)
	s.compact("2", 2, 3, "summary-1", "log-2", "log-3")
	s.in("thread-2", "turn-2", "run-2")
	s.tell(&schema.ScopeOpened{RunID: "run-2", ParentRunID: "run-1", RootRunID: "run-1", ScopeKind: "subagent"})
	s.call("call-child", 0, 0)
	s.source = "urn:test:plain"
	s.tell(&schema.ResourceAccessed{Resource: schema.Resource{BindingID: "binding-1", Name: "files"}, Operation: "read", Path: "/tmp/x", Allowed: true})
	for range 8 { // repeats, as from a producer without a reply
		s.events = append(s.events, s.events[len(s.events)/2-len(s.events)%7])
	}
	return s.events
}

func (s *story) compact(id string, first, last int64, items ...string) {
	s.tell(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compaction-" + id, Scope: "thread", SummaryRef: schema.Ref("summary-" + id), SourceItemRefs: schema.Refs(items...),
		SourceWindow: &schema.SourceWindow{ThreadID: "thread-1", FirstPosition: &first, LastPosition: &last}, TokensBefore: new(int64(50)), TokensAfter: new(int64(20))}})
	s.tell(&schema.SummaryCreated{Summary: schema.Summary{SummaryID: "summary-" + id, SummaryKind: "thread_summary", CoversThroughPosition: &last, SourceItemRefs: schema.Refs(items...), Tokens: new(int64(20))}})
}

// showOrder are the columns with the place and time of an event in the stream. Two views have
// only these columns and their subject.
var (
	showOrder = []string{"incarnation", "stream_seq", "recorded_at", "first_incarnation", "first_seq", "last_fact_at"}
	onlyOrder = []string{"ledger_head"}
)

// answers returns the rows of each view as sorted text, without the columns that show the order
// of the stream.
func (f *fixture) answers() map[string][]string {
	f.t.Helper()
	columns := make(map[string][]string)
	rows, err := f.sql.Query(f.t.Context(), "SELECT table, name FROM system.columns WHERE database = currentDatabase() AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View')")
	f.must(err)
	for rows.Next() {
		var view, column string
		f.must(rows.Scan(&view, &column))
		if !slices.Contains(showOrder, column) && !slices.Contains(onlyOrder, view) {
			columns[view] = append(columns[view], column)
		}
	}
	f.must(rows.Err())
	said := make(map[string][]string)
	for view, names := range columns {
		rows, err := f.sql.Query(f.t.Context(), fmt.Sprintf("SELECT formatRow('JSONEachRow', %s) AS line FROM %s ORDER BY line", strings.Join(names, ", "), view))
		f.must(err)
		for rows.Next() {
			var line string
			f.must(rows.Scan(&line))
			said[view] = append(said[view], line)
		}
		f.must(rows.Err())
	}
	return said
}

// TestTheOrderOfArrivalIsNotSeen tells the same story in random orders, with random cuts into
// batches.
func TestTheOrderOfArrivalIsNotSeen(t *testing.T) {
	t.Parallel()
	told := func(events []*schema.Event, batch int) map[string][]string {
		f := newFixture(t)
		for _, e := range events {
			f.publish(e.Binary())
		}
		p := f.projector()
		p.config.BatchMessages = batch
		f.must(f.run(p))
		return f.answers()
	}
	events := newStory(t).whole()
	want := told(events, len(events))
	if full := len(want); full < 20 {
		t.Fatalf("only %d views have an answer", full)
	}
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 0))
			shuffled := slices.Clone(events)
			draw.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			got := told(shuffled, 1+draw.IntN(len(events)))
			for view, rows := range want {
				if !slices.Equal(got[view], rows) {
					t.Errorf("%s says\n%s\nand in the order of events\n%s", view, strings.Join(got[view], ""), strings.Join(rows, ""))
				}
			}
			for view := range got {
				if _, ok := want[view]; !ok {
					t.Errorf("%s says something: %v", view, got[view])
				}
			}
		})
	}
}
