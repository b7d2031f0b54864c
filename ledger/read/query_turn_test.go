package read_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// joined runs a named query and joins the values of each row by spaces.
func joined(t *testing.T, l *ledger.Ledger, name string, arguments map[string]string, columns string) []string {
	t.Helper()
	var list []string
	for _, row := range named(t, l, name, arguments, strings.Fields(columns)...) {
		list = append(list, strings.Join(row, " "))
	}
	return list
}

// TestWindowIsThatOfTheView compares the query window, which reads the tables, with the view
// turn_window, for every call in the view.
func TestWindowIsThatOfTheView(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	c.manyWindows()
	l := c.write()
	const columns = "call_id, position, layer, role, item_type, name, title, tokens, tokens_full, elided, elided_by, redaction_state, item_refs, tool_call_id, origin, injected, assembly_id, target, digest, block"
	calls := rows(t, l, "SELECT DISTINCT session_id, turn_id, call_id FROM turn_window ORDER BY ALL", nil)
	if len(calls) < 9 {
		t.Fatalf("the view knows only the calls %v", calls)
	}
	for _, call := range calls {
		arguments := map[string]string{"session_id": call[0], "turn_id": call[1], "call_id": call[2]}
		want := rows(t, l, "SELECT "+columns+" FROM turn_window WHERE session_id = {session_id:String} AND turn_id = {turn_id:String} AND call_id = {call_id:String} ORDER BY target, position", arguments)
		got := named(t, l, "window", arguments, strings.Split(columns, ", ")...)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n got %q\nwant %q", call, got, want)
		}
	}
}

// manyWindows adds further cases: a stub that was read again, and assemblies in two parts, made
// twice and for two targets. manyWindows also adds a second thread, blocks without items, and a
// tail that a compaction kept.
func (c *corpus) manyWindows() {
	c.in("s3", "s3", "v1", "run-root")
	block := func(name, item, digest string, tokens int64) schema.Block {
		b := schema.Block{Block: name, Layer: "user", Role: "user", Tokens: &tokens, Digest: digest}
		if item != "" {
			b.ItemRefs = refs(item)
		}
		return b
	}
	assemble := func(id, call, target string, blocks ...schema.Block) {
		c.add(&schema.AssemblyCreated{AssemblyID: id, CallID: call, Target: target, OrderedBlocks: blocks})
	}
	elide := func(change func(schema.Elision) schema.Fact, pass string) {
		c.add(change(schema.Elision{PassID: pass, Level: schema.ElideOffloaded, ElidedItemRefs: []schema.Elided{{ItemRef: "b", TokensBefore: num(40), TokensAfter: num(4), ReloadRef: "file:b"}}}))
	}
	applied := func(e schema.Elision) schema.Fact { return &schema.ElisionApplied{Elision: e} }
	reloaded := func(e schema.Elision) schema.Fact { return &schema.ElisionReloaded{Elision: e} }
	for _, id := range []string{"a", "b"} {
		c.add(&schema.ItemAdded{Item: schema.Item{ItemID: id, Title: "item " + id, Layer: "memory", TokenEstimate: num(40)}})
	}
	assemble("w1-old", "w1", "model", block("0", "a", "", 9))
	assemble("w1", "w1", "model", block("system", "", "sys", 10), block("1", "a", "", 40), block("2", "b", "", 40))
	assemble("w1-ui", "w1", "ui", block("0", "a", "", 40))
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-w1", CallID: "w1", AssemblyID: "w1", Target: "model"}})
	elide(applied, "pass-w2")
	assemble("w2", "w2", "model", block("system", "", "sys", 10), block("1", "b", "", 4), block("2", "a", "", 40), block("3", "", "fresh", 3))
	elide(reloaded, "pass-w3")
	c.in("s3", "s3", "v2", "run-root")
	assemble("w3", "w3", "model", block("system", "", "sys", 10), block("1", "b", "", 40))
	c.in("s3", "beside", "v2", "run-child")
	assemble("x1", "x1", "model", block("system", "", "sys", 10), block("1", "a", "", 40))
	c.in("s4", "s4", "y1", "run-root")
	for i, id := range []string{"p", "q", "r"} {
		c.entry(id, "message", "", "", int64(i), 10)
	}
	c.add(&schema.UsageRecorded{CallID: "y1", WindowFirst: num(0), WindowNext: num(3)})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "cut", Scope: "thread", SummaryRef: "s", SourceItemRefs: refs("p", "q"), RetainedTailRefs: refs("r"),
		SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(2)}}})
	c.entry("s", "message", "", "", 3, 5)
	c.add(&schema.UsageRecorded{CallID: "y2", WindowFirst: num(0), WindowNext: num(4)})
}

func TestWindowSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	c.manyWindows()
	l := c.write()
	const columns = "item_refs block is_new elided_level reload_ref previous_turn_id previous_call_id"
	for _, test := range []struct {
		session, turn, call string
		want                []string
	}{
		{"s1", "t1", "", []string{"[] system NULL    ", "[item-secret] result NULL    ", "[item-doc] doc NULL    "}},
		// A stub of an earlier item is not new.
		{"s1", "t2", "call-2", []string{"[] system false   t1 call-1", "[item-secret] result false simple  t1 call-1", "[item-doc] doc false   t1 call-1"}},
		{"s3", "v1", "w2", []string{"[] system false   v1 w1", "[b] 1 false offloaded file:b v1 w1", "[a] 2 false   v1 w1", "[] 3 true   v1 w1"}},
		{"s3", "v2", "w3", []string{"[] system false   v1 w2", "[b] 1 false   v1 w2"}},
		{"s3", "v2", "x1", []string{"[] system NULL    ", "[a] 1 NULL    "}},
		{"s2", "u1", "i2", []string{"[m0] m0 false   u1 i1", "[f1] f1 true   u1 i1", "[r1] r1 true   u1 i1", "[f2] f2 true   u1 i1"}},
		{"s2", "u1", "", []string{"[sum-item] sum-item false   u1 i3", "[f3] f3 true   u1 i3", "[r3] r3 true   u1 i3"}},
	} {
		got := joined(t, l, "window", map[string]string{"session_id": test.session, "turn_id": test.turn, "call_id": test.call}, columns)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s %s\n got %q\nwant %q", test.session, test.turn, test.call, got, test.want)
		}
	}
}

func TestSizeOfACall(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	got := joined(t, l, "call-size", map[string]string{"session_id": "s1", "call_id": "call-1"},
		"model max_tokens reserved_tokens billed_tokens cache_read output_tokens omitted omitted_tokens omitted_unknown omission_reasons omitted_by shortened_refs redacted_refs redacted_policies")
	want := []string{"m1 1000 200 670 0 10 2 9040 0 [budget_limit low_relevance] [1 1] [item-doc] [item-secret] [policy-a, policy-b]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := joined(t, l, "call-size", map[string]string{"session_id": "s1", "call_id": "call-1", "as_of": "2026-11-20T08:00:00Z"}, "model max_tokens billed_tokens omitted redacted_refs"); fmt.Sprint(got) != "[ NULL NULL 0 []]" {
		t.Errorf("before all: %q", got)
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	for _, test := range []struct {
		session, turn, item, columns string
		want                         []string
	}{
		{"s1", "t1", "item-big", "step in_turn call_id position rank tokens_before reason note policy stand_in", []string{
			"added true  NULL NULL 9000  document  file:///big",
			"available true  2 NULL NULL    ",
			"omitted true call-1 NULL 3 9000 budget_limit does not fit policy-select surface-1",
			"missing detected true  NULL NULL NULL open what is in big? high alice",
			"missing requested true  NULL NULL NULL requested what is in big?  alice",
		}},
		{"s1", "t2", "item-secret", "step in_turn call_id record_id position tokens_before tokens_after reason note policy", []string{
			"added false  item-secret NULL 20 20 masked tool_result ",
			"assembled false call-1 assembly-1 1 300 300  tool_results ",
			"injected false call-1 inject-assembly-1 1 NULL NULL  window ",
			"redacted false  redaction-1 NULL NULL NULL secret masked policy-a, policy-b",
			"elided true  pass-1 NULL 300 50  simple every_turn",
			"assembled true call-2 assembly-2 1 50 50  tool_results ",
			"injected true call-2 inject-assembly-2 1 NULL NULL  window ",
		}},
		{"s1", "t1", "item-doc", "step rank score signals tokens_before tokens_after position", []string{
			"added NULL NULL map[] 100 100 NULL", "available NULL NULL map[] NULL NULL 0", "selected 1 0.9 map[recency:0.8] 100 100 NULL", "shortened NULL NULL map[] 150 100 NULL",
			"assembled NULL NULL map[] 60 60 2", "injected NULL NULL map[] NULL NULL 2", "assembled NULL NULL map[] 60 60 2", "injected NULL NULL map[] NULL NULL 2",
		}},
		// The windows of a log are projected: an entry is visible until a summary replaces it.
		{"s2", "u1", "r1", "step call_id position tokens_before tokens_after note stand_in", []string{
			"logged  2 500 500 function_call_output ", "seen i2 2 NULL NULL projected from the item log ", "elided  NULL NULL NULL  ", "compacted  NULL 520 NULL  sum-1",
		}},
		{"s2", "u1", "nosuch", "step", nil},
	} {
		got := joined(t, l, "why", map[string]string{"session_id": test.session, "turn_id": test.turn, "item_id": test.item}, test.columns)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s %s\n got %q\nwant %q", test.session, test.turn, test.item, got, test.want)
		}
	}
}

func TestNearestTurnsAndItems(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	for _, test := range []struct {
		query   string
		give    map[string]string
		columns string
		want    []string
	}{
		{"window-turns", map[string]string{"turn_id": "t", "limit": "2"}, "turn_id session_id sessions begins distance", []string{"t2 s1 1 true 1", "t1 s1 1 true 1"}},
		{"window-turns", map[string]string{"turn_id": "u2", "session_id": "s2"}, "turn_id begins distance", []string{"u1 false 1"}},
		{"window-turns", map[string]string{"limit": "1"}, "turn_id distance", []string{"u1 0"}},
		{"why-items", map[string]string{"session_id": "s1", "item_id": "item-d", "limit": "2"}, "item_ref title begins", []string{"item-doc Doc true", "item-big  false"}},
		{"why-items", map[string]string{"session_id": "s2", "item_id": "r", "limit": "2"}, "item_ref begins", []string{"r1 true", "r3 true"}},
		{"window-facts", map[string]string{"session_id": "s1", "turn_id": "t2"}, "event_type facts call_ids", []string{
			"context.usage.recorded 2 [call-2 call-child]", "context.assembly.created 1 [call-2]", "context.elision.applied 1 []", "context.grant.narrowed 1 []",
			"context.injection.applied 1 [call-2]", "context.resource.accessed 1 []", "context.scope.opened 1 []",
		}},
		{"window-facts", map[string]string{"session_id": "s1", "turn_id": "none"}, "event_type", nil},
	} {
		if got := joined(t, l, test.query, test.give, test.columns); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %v\n got %q\nwant %q", test.query, test.give, got, test.want)
		}
	}
}

// TestQueriesOfRowsThatAreStoredTwice: queries over tables and package turn ignore duplicate rows,
// as the views do.
func TestQueriesOfRowsThatAreStoredTwice(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	l := c.write()
	ask := func() (answers []string) {
		for _, name := range []string{"turn-sessions", "window", "call-size", "window-facts", "window-turns", "why", "why-items",
			"budget-what-if", "elision-savings", "injected-never-assembled", "items-by-kind", "reconciliation", "selection-acceptance", "sessions"} {
			q, err := queries.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			given := map[string]string{"session_id": "s1", "turn_id": "t1", "call_id": "call-1", "item_id": "item-big", "percent": "1", "limit": "1000"}
			for p := range given {
				if !strings.Contains(q.SQL, "{"+p+":") {
					delete(given, p)
				}
			}
			values, err := q.Bind(given)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, fmt.Sprint(name, rows(t, l, q.SQL, values)))
		}
		blocks, size, err := turn.Window(t.Context(), l, map[string]string{"session_id": "s1", "turn_id": "t1", "call_id": "call-1"})
		if err != nil {
			t.Fatal(err)
		}
		steps, err := turn.Way(t.Context(), l, map[string]string{"session_id": "s1", "turn_id": "t1", "item_id": "item-big"})
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []any{blocks, size, steps} {
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, string(text))
		}
		return answers
	}
	once := ask()
	c.batch.Digest[0]++ // another token, so the server stores every row again
	if err := l.Write(t.Context(), c.batch, 1); err != nil {
		t.Fatal(err)
	}
	for i, twice := range ask() {
		if twice != once[i] {
			t.Errorf("twice: %s\n once: %s", twice, once[i])
		}
	}
}
