package read_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// callsOnly adds a stub that is known only by its tool call, and the following window with this
// stub. callsOnly also adds a compaction that is known only by its range of the log. Items of other
// sessions and the content behind the reply are erased. Another tenant has a session with the same
// id.
func (c *corpus) callsOnly() {
	c.in("s5", "s5", "z1", "run-root")
	c.entry("ask", "function_call", "Read", "tool-z", 0, 5)
	c.entry("reply", "function_call_output", "Read", "tool-z", 1, 500)
	c.add(&schema.ElisionApplied{Elision: schema.Elision{PassID: "pass-z", Level: schema.ElideOffloaded,
		ElidedItemRefs: []schema.Elided{{ItemRef: "other", TokensBefore: num(7)}, {ItemRef: "tool-z:result", ToolCallID: "tool-z", TokensBefore: num(500), TokensAfter: num(20)}}}})
	c.add(&schema.UsageRecorded{CallID: "z1", WindowFirst: num(0), WindowNext: num(2)})
	c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "cut-z", Scope: "thread", SummaryRef: "sum-z", SourceItemRefs: refs("ask"),
		SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(1)}}})
	c.in(`s"6`, "s6", "z2", "run-root")
	c.entry("answer", "function_call_output", "Read", "tool-q", 0, 50)
	c.add(&schema.UsageRecorded{CallID: "z2", WindowFirst: num(0), WindowNext: num(1)})
	c.ids = schema.Correlation{Tenant: "acme", Agent: "coder", RuntimeID: "bench"}
	c.add(&schema.ErasureApplied{Common: schema.Common{PolicyRefs: refs("policy-a", "policy-b")}, ErasureID: "erasure-z", ErasedSubject: "user-z", Reason: "request",
		Records: []schema.ErasedRecord{{SessionID: "s5", ItemID: "reply"}, {SessionID: "s1", ItemID: "item-doc"}, {SessionID: "s1", ItemID: "ask"}, {SessionID: "s5"}}})
	c.add(&schema.ErasureApplied{Common: schema.Common{PolicyRefs: refs("policy-a")}, ErasureID: "erasure-y", ErasedSubject: "user-y", Reason: "request",
		Records: []schema.ErasedRecord{{SessionID: `s"6`, ItemID: "answer"}}})
	c.in("s5", "s5", "z1", "run-root").ids.Tenant = "globex"
	c.entry("ask", "function_call", "Write", "tool-y", 0, 6)
	c.add(&schema.UsageRecorded{CallID: "y1", WindowFirst: num(0), WindowNext: num(1)})
}

// selected returns the rows of a named query.
func selected[T any](t *testing.T, l *ledger.Ledger, name string, arguments map[string]string) (list []T) {
	t.Helper()
	q, err := queries.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	given, err := q.Bind(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Of(l).Select(t.Context(), &list, q.SQL, given, read.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	return list
}

// same compares column values. A nil list and an empty list are equal.
func same(t *testing.T, about any, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("%v\n got %s\nwant %s", about, g, w)
	}
}

// TestTurnIsThatOfTheQueries compares the results of package turn with the queries window and
// call-size, for every call, and for every turn at an earlier time.
func TestTurnIsThatOfTheQueries(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	c.manyWindows()
	c.callsOnly()
	l := c.write()
	half := rows(t, l, "SELECT formatDateTime(quantile(0.7)(recorded_at), '%Y-%m-%dT%H:%i:%SZ') FROM events", nil)[0][0]
	windows := 0
	for _, call := range rows(t, l, "SELECT DISTINCT session_id, turn_id, arrayJoin(['', call_id]), tenant FROM turn_window ORDER BY ALL", nil) {
		arguments := map[string]string{"session_id": call[0], "turn_id": call[1], "call_id": call[2], "tenant": call[3]}
		if call[2] == "" {
			arguments["as_of"], arguments["tenant"] = half, ""
		}
		want := selected[turn.Block](t, l, "window", arguments)
		got, size, err := turn.Window(t.Context(), l, arguments)
		if err != nil {
			t.Fatal(err)
		}
		same(t, arguments, got, want)
		if len(want) == 0 || want[0].Call == "" {
			continue
		}
		windows++
		same(t, arguments, []*turn.Size{size}, selected[turn.Size](t, l, "call-size", map[string]string{"session_id": call[0], "call_id": want[0].Call, "as_of": arguments["as_of"]}))
	}
	if windows < 12 {
		t.Errorf("only %d windows were compared", windows)
	}
}

// TestWayIsThatOfTheQuery compares the steps of every item with the steps from the query why, at
// two times.
func TestWayIsThatOfTheQuery(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	c.manyWindows()
	c.callsOnly()
	l := c.write()
	half := rows(t, l, "SELECT formatDateTime(quantile(0.7)(recorded_at), '%Y-%m-%dT%H:%i:%SZ') FROM events", nil)[0][0]
	steps := 0
	for _, item := range rows(t, l, "SELECT session_id, item_id, max(turn_id), tenant FROM (SELECT session_id, item_id, turn_id, tenant FROM items UNION ALL SELECT session_id, arrayJoin([item_ref, log_item_id]), turn_id, tenant FROM log_items) WHERE item_id != '' GROUP BY ALL ORDER BY ALL", nil) {
		for _, asOf := range []string{half, ""} {
			arguments := map[string]string{"session_id": item[0], "item_id": item[1], "turn_id": item[2], "as_of": asOf}
			if asOf == "" {
				arguments["tenant"] = item[3]
			}
			want := selected[turn.Step](t, l, "why", arguments)
			got, err := turn.Way(t.Context(), l, arguments)
			if err != nil {
				t.Fatal(err)
			}
			same(t, arguments, got, want)
			steps += len(want)
		}
	}
	if steps < 60 {
		t.Errorf("only %d steps were compared", steps)
	}
}

// TestQueryAnswersAsItsStatement covers the named queries that package turn answers. The test
// compares columns and values with the results of the SQL statements.
func TestQueryAnswersAsItsStatement(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	l := c.write()
	for name, arguments := range map[string]map[string]string{
		"window":   {"session_id": "s1", "turn_id": "t1"},
		"why":      {"session_id": "s1", "turn_id": "t1", "item_id": "item-doc"},
		"sessions": {},
	} {
		q, err := queries.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		given, err := q.Bind(arguments)
		if err != nil {
			t.Fatal(err)
		}
		want, err := read.Of(l).Query(t.Context(), q.SQL, given, read.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		got, err := turn.Query(t.Context(), l, q, given, read.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, columns(got), columns(want))
		rows := 0
		for want.Next() {
			if !got.Next() {
				t.Fatalf("%s: only %d rows: %v", name, rows, got.Err())
			}
			rows++
			same(t, name, got.Values(), want.Values())
		}
		if got.Next() || rows == 0 {
			t.Errorf("%s: more than %d rows", name, rows)
		}
		if err := errors.Join(got.Close(), want.Close()); err != nil {
			t.Error(err)
		}
		limits := read.DefaultLimits()
		limits.Rows = uint64(rows) - 1
		var limit *read.LimitError
		if _, err := turn.Query(t.Context(), l, q, given, limits); rows > 1 && (!errors.As(err, &limit) || limit.Limit != "rows") {
			t.Errorf("%s: %d rows where %d may be: %v", name, rows, rows-1, err)
		}
	}
}

// columns returns names and types, without the storage form on the server.
func columns(r read.Rows) (list []string) {
	stored := regexp.MustCompile(`LowCardinality\((\w+)\)|Enum8\([^)]*\)`)
	for _, c := range r.Columns() {
		list = append(list, c.Name+" "+stored.ReplaceAllString(c.Type, "$1"))
	}
	return list
}
