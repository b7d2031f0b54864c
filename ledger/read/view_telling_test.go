package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// TestOneTellingOfACallCounts: of several records of one call the best known one counts in sums. The
// others stay and are listed, with the values that differ.
func TestOneTellingOfACallCounts(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "run-9")
	usage := func(source, call, message string, fidelity schema.Fidelity, input, output int64) {
		f := &schema.UsageRecorded{CallID: call, ProviderMessageID: message, Model: "m", Usage: schema.ProviderUsage{UncachedInput: &input, Output: &output}}
		f.Fidelity = fidelity
		c.source = source
		c.add(f)
	}
	const imported = "urn:ctxledger:import:claude-code:s9"
	usage(imported, "msg_1", "", "", 10, 99) // from before the word
	usage("urn:x:wire", "wire-1", "msg_1", schema.FidelityWire, 11, 5)
	usage("urn:x:sdk", "sdk-1", "msg_1", "", 12, 50) // stated, from before the word
	usage("urn:x:otlp", "otlp-1", "msg_1", schema.FidelityReported, 13, 60)
	usage(imported, "msg_2", "", "", 20, 1)
	usage("urn:x:otlp", "otlp-2", "msg_2", schema.FidelityReported, 20, 1) // agrees
	usage(imported, "msg_3", "", schema.FidelityReconstructed, 30, 1)
	usage(imported, "msg_3", "", schema.FidelityReconstructed, 30, 7) // the same record, grown
	l := c.write()
	if got := fmt.Sprint(rows(t, l, "SELECT calls, uncached_input, output FROM session_summary WHERE session_id = 's9'", nil)); got != "[[3 61 13]]" {
		t.Errorf("the session has %s", got)
	}
	var told []string
	for _, row := range named(t, l, "tellings", map[string]string{"session_id": "s9"}, "call", "call_id", "counts", "fidelity", "window_tokens", "differs") {
		told = append(told, strings.Join(row, " "))
	}
	want := []string{
		"msg_1 wire-1 true wire 11 []", "msg_1 sdk-1 false stated 12 [uncached_input output window_tokens]",
		"msg_1 otlp-1 false reported 13 [uncached_input output window_tokens]", "msg_1 msg_1 false reconstructed 10 [uncached_input output window_tokens]",
		"msg_2 otlp-2 true reported 20 []", "msg_2 msg_2 false reconstructed 20 []",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tellings are\n%s", strings.Join(told, "\n"))
	}
	var known []string
	for _, row := range named(t, l, "fidelity", map[string]string{"session_id": "s9"}, "call", "fidelity", "sources", "differs") {
		known = append(known, strings.Join(row, " "))
	}
	if got := strings.Join(known, "\n"); got != "msg_1 wire 4 [uncached_input output window_tokens]\nmsg_2 reported 2 []\nmsg_3 reconstructed 1 []" {
		t.Errorf("the calls are known as\n%s", got)
	}
}

// tell adds the imported session from a source, with more tokens than it has.
func (c *corpus) tell(source string, more int64) {
	c.in("s2", "s2", "u1", "s2")
	c.ids.RootRunID, c.ids.ParentRunID = "s2", ""
	c.source = source
	c.again = c.batch.Last
	c.add(&schema.ScopeOpened{RunID: "s2", RootRunID: "s2", ScopeKind: "session"})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "r1", ContextKind: "tool_result", Title: fmt.Sprint(more, " more"), TokenEstimate: num(500 + more)}})
	c.importedAs(source, more)
}

// TestOneTellingOfALogCounts: of a log that was imported by several versions or with several options
// one telling counts, in every query of the catalogue and in package turn. At a time before a better
// telling, the one from before counts.
func TestOneTellingOfALogCounts(t *testing.T) {
	t.Parallel()
	const log = "urn:ctxledger:import:claude-code:s2"
	first, best, several := newCorpus(t), newCorpus(t), newCorpus(t)
	first.tell(log, 0)
	best.tell(log+";r10;bare;00000004", 2)
	var then time.Time
	for i, source := range []string{log, log + ";r2;bare;00000001", log + ";r10;bare;00000004", log + ";r2;text;00000002"} {
		several.tell(source, int64(i))
		if i == 0 {
			then = several.batch.RecordedAt
		}
	}
	several.ids.Tenant = "globex" // who has a session with the same id
	several.source, several.again = log+";r99;text;00000005", 0
	several.add(&schema.ScopeOpened{RunID: "s2", RootRunID: "s2", ScopeKind: "session"})
	l := several.write()
	if r := rows(t, l, "SELECT source FROM retold ORDER BY source", nil); len(r) != 3 {
		t.Errorf("retold has %v", r)
	}
	ofAll := []string{"tellings", "fidelity", "mentions", "event-types", "completeness"} // these list or count what is recorded
	asked := 0
	compare := func(want *ledger.Ledger, name string, arguments map[string]string) {
		t.Helper()
		q, err := queries.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for _, c := range q.Columns {
			if !slices.Contains([]string{"incarnation", "stream_seq", "recorded_at", "source", "last_at"}, c.Name) {
				columns = append(columns, c.Name)
			}
		}
		told, expected := named(t, l, name, arguments, columns...), named(t, want, name, arguments, columns...)
		same(t, fmt.Sprint(name, arguments), told, expected)
		asked += len(told)
	}
	counts := best.write()
	for _, q := range queries.All() {
		arguments := map[string]string{"tenant": "acme"}
		for _, p := range q.Parameters {
			if p.Name == "session_id" {
				arguments["session_id"] = "s2"
			}
		}
		if _, err := q.Bind(arguments); err == nil && !slices.Contains(ofAll, q.Name) {
			compare(counts, q.Name, arguments)
		}
	}
	if asked < 20 {
		t.Errorf("the queries have only %d rows", asked)
	}
	before := first.write()
	for _, call := range []string{"i1", "i2", "i3", "i4"} {
		arguments := map[string]string{"session_id": "s2", "turn_id": "u1", "call_id": call, "tenant": "acme"}
		blocks, size, err := turn.Window(t.Context(), l, arguments)
		if err != nil {
			t.Fatal(err)
		}
		sameOf[turn.Block](t, "window", arguments, blocks, l, counts)
		given := map[string]string{"session_id": "s2", "call_id": call, "tenant": "acme"}
		sameOf[turn.Size](t, "call-size", given, []*turn.Size{size}, l, counts)
		arguments["as_of"] = then.Format(time.RFC3339)
		if blocks, _, err = turn.Window(t.Context(), l, arguments); err != nil {
			t.Fatal(err)
		}
		sameOf[turn.Block](t, "window", arguments, blocks, l, before)
	}
	for _, item := range []string{"m0", "r1", "r3", "sum-item"} {
		arguments := map[string]string{"session_id": "s2", "item_id": item, "tenant": "acme"}
		compare(counts, "why", arguments)
		steps, err := turn.Way(t.Context(), l, arguments)
		if err != nil {
			t.Fatal(err)
		}
		same(t, arguments, steps, selected[turn.Step](t, l, "why", arguments))
		arguments["as_of"] = then.Format(time.RFC3339)
		compare(before, "why", arguments)
		if steps, err = turn.Way(t.Context(), l, arguments); err != nil {
			t.Fatal(err)
		}
		same(t, arguments, steps, selected[turn.Step](t, l, "why", arguments))
	}
	for _, view := range []string{
		"model_calls", "item_versions", "log_entries", "elisions", "compactions", "summaries", "scope_records", "turn_window", "call_layers",
		"layer_usage", "cache_bill", "compaction_lineage",
	} {
		count := "SELECT count() FROM " + view + " WHERE tenant = 'acme'"
		same(t, view, rows(t, l, count, nil), rows(t, counts, count, nil))
	}
}

// sameOf compares an answer with the rows of a named query in each of the ledgers. Every column has a
// field in T.
func sameOf[T any](t *testing.T, name string, arguments map[string]string, got any, ledgers ...*ledger.Ledger) {
	t.Helper()
	for i, l := range ledgers {
		same(t, fmt.Sprint(name, arguments, " in ledger ", i), got, selected[T](t, l, name, arguments))
	}
}
