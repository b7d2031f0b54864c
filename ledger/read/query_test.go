package read_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

func cleanCorpus(t *testing.T) *ledger.Ledger {
	t.Helper()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	return c.write()
}

// named runs a named query and returns the values of the given columns.
func named(t *testing.T, l *ledger.Ledger, name string, arguments map[string]string, columns ...string) [][]string {
	t.Helper()
	q, err := queries.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	values, err := q.Bind(arguments)
	if err != nil {
		t.Fatal(err)
	}
	index := make([]int, len(columns))
	for i, c := range columns {
		if index[i] = slices.IndexFunc(q.Columns, func(d queries.Column) bool { return d.Name == c }); index[i] < 0 {
			t.Fatalf("%s has no column %s", name, c)
		}
	}
	var list [][]string
	for _, row := range rows(t, l, q.SQL, values) {
		picked := make([]string, len(columns))
		for i, at := range index {
			picked[i] = row[at]
		}
		list = append(list, picked)
	}
	return list
}

func TestEveryQueryReturnsItsDocumentedColumns(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	for _, q := range queries.All() {
		arguments := map[string]string{}
		for _, p := range q.Parameters {
			switch p.Name {
			case "session_id":
				arguments[p.Name] = "s1"
			case "turn_id":
				arguments[p.Name] = "t1"
			case "call_id":
				arguments[p.Name] = "call-1"
			case "item_id":
				arguments[p.Name] = "item-big"
			case "days":
				arguments[p.Name] = "30"
			case "tenant":
				arguments[p.Name] = "acme"
			}
		}
		for _, given := range []map[string]string{arguments, required(q, arguments)} {
			values, err := q.Bind(given)
			if err != nil {
				t.Errorf("%s: %v", q.Name, err)
				continue
			}
			r, err := read.Of(l).Query(t.Context(), q.SQL, values, read.DefaultLimits())
			if err != nil {
				t.Errorf("%s: %v", q.Name, err)
				continue
			}
			var got, want []string
			for _, c := range r.Columns() {
				got = append(got, c.Name)
				if strings.Contains(c.Type, "Variant") || strings.Contains(c.Type, "Dynamic") {
					t.Errorf("%s: column %s has no single type, but %s", q.Name, c.Name, c.Type)
				}
			}
			for _, c := range q.Columns {
				want = append(want, c.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s returns %v, documented are %v", q.Name, got, want)
			}
			for r.Next() {
				r.Values()
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s: %v", q.Name, err)
			}
		}
	}
}

// required returns the required arguments of the query.
func required(q queries.Query, arguments map[string]string) map[string]string {
	kept := map[string]string{}
	for _, p := range q.Parameters {
		if p.Required {
			kept[p.Name] = arguments[p.Name]
		}
	}
	return kept
}

func TestKnownAnswers(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	s1, s2 := map[string]string{"session_id": "s1"}, map[string]string{"session_id": "s2"}
	tests := []struct {
		query   string
		give    map[string]string
		columns string
		want    []string // one string per row, values joined by spaces
	}{
		{"session-usage", nil, "session_id api_call_count input_tokens cache_creation_tokens cache_read_tokens output_tokens cost",
			[]string{"s1 3 630 460 100 30 NULL", "s2 4 585 20 45 14 NULL"}},
		{"session-usage", map[string]string{"tenant": "other"}, "session_id", nil},
		{"tool-use", s2, "tool_use_ids tool_result_ids unanswered_tool_uses orphan_tool_results", []string{"3 2 1 0"}},
		{"tools-by-name", s2, "tool calls result_tokens", []string{"Bash 2 530", "Read 1 NULL"}},
		{"model-usage", s2, "model calls uncached_input cache_written", []string{"m1 4 585 20"}},
		{"run-tree", s1, "run_id depth calls total_calls window_tokens total_window_tokens", []string{"run-root 0 2 3 1090 1190", "run-child 1 1 1 100 100"}},
		{"mentions", map[string]string{"session_id": "s1", "text": "ITEM-big"}, "turn_id facts items", []string{"t1 4 1"}},
		{"turns", s2, "turn_id calls last_call_id last_window_tokens", []string{"u1 4 i4 75"}},
		{"turn-sessions", map[string]string{"turn_id": "u1"}, "session_id", []string{"s2"}},
		{"omission-reasons", nil, "reason policy omissions tokens", []string{"budget_limit policy-select 1 9000", "low_relevance policy-select 1 40"}},
		{"omitted-then-missing", nil, "item_ref omissions gaps last_question", []string{"item-big 1 1 what is in big?"}},
		{"selection-acceptance", nil, "source_kind candidates selected acceptance", []string{"file 2 1 0.5", "memory 1 0 0"}},
		{"selection-signals", nil, "signal mean_selected mean_omitted", []string{"recency 0.8 0.2"}},
		{"budget-headroom", nil, "budgets headroom_median overflows truncated_items truncated_tokens", []string{"1 100 0 1 50"}},
		{"pressure-steps", nil, "agent model step outcome times tokens_freed", []string{"coder m1 2 applied 1 200"}},
		{"compaction-boundaries", s2, "number line kind uuid trigger pre_tokens logical_parent_uuid tokens_saved compacted_tool_ids prev_call_window next_call_id next_call_window next_call_cache_read next_call_recomputed",
			[]string{
				"1 33 microcompact_boundary micro-1 auto 400 NULL 450 1 520 i3 35 5 30",
				"2 40 compact_boundary compact-1 manual 520 parent-1 NULL NULL 520 i3 35 5 30",
				"3 NULL compact_boundary compact-2  NULL NULL NULL NULL 75 NULL NULL NULL NULL",
			}},
		{"summaries", s2, "compact_summaries summary_id tokens covers_through_position", []string{"1 sum-1 20 3"}},
		{"compaction-quality", s2, "compaction_id tokens_before tokens_after staleness generations", []string{"compact-1 520 20 3 0", "compact-2 NULL NULL 0 1"}},
		{"compaction-lineage", s2, "compaction_id generation ancestor_id", []string{"compact-1 0 compact-1", "compact-2 0 compact-2", "compact-2 1 compact-1"}},
		{"elision-savings", s1, "policy passes items saved_tokens recomputed_tokens lost_tokens later_calls", []string{"every_turn 1 1 250 320 200 1"}},
		{"days", nil, "day sessions calls all_input_tokens output_tokens at_least_cost partial_calls unpriced_calls", []string{"2026-11-20 2 7 1840 44 NULL 0 7"}},
		{"days", map[string]string{"session_id": "s1", "by_session": "1"}, "day session_id calls all_input_tokens cost_complete", []string{"2026-11-20 s1 3 1190 false"}},
		{"top-items", map[string]string{"session_id": "s2", "limit": "3"}, "item_ref calls tokens token_calls", []string{"r1 1 500 500", "sum-item 2 20 40", "r3 1 30 30"}},
		{"cache-bill", s1, "cause calls breaks lost_tokens recomputed_billed recomputed_expected penalty_tokens", []string{"elision 1 1 200 320 110 110"}},
		{"cache-bill", s2, "cause calls lost_tokens recomputed_billed", []string{"compaction 1 10 30", "append 2 0 555"}},
		{"reconciliation", s1, "call_id billed_tokens attributed_tokens unattributed", []string{"call-1 670 300 370", "call-child 100 300 -200", "call-2 420 300 120"}},
		{"window-by-layer", s1, "layer calls tokens share", []string{"tool_results 3 600 0.6666666666666666", "system 3 300 0.3333333333333333"}},
		{"redactions-by-policy", nil, "policy_ref reason redactions", []string{"policy-a secret 1", "policy-b secret 1"}},
		{"grants-denied", nil, "run_id outcome rule refused", []string{"run-child narrowed narrow [web:read]"}},
		{"resource-access", nil, "resource_name operation allowed accesses paths", []string{"files write false 1 [/etc/passwd]"}},
		{"open-gaps", map[string]string{"as_of": "2026-11-20T09:00:00Z"}, "owner missing_id status severity question requested_action", []string{"alice gap-1 requested high what is in big? upload it"}},
		{"gaps", s1, "turn_id run_id missing_id is_open status severity question candidate_item_refs owner requested_action steps settled_seconds", []string{
			"t1 run-root gap-1 true requested high what is in big? [item-big] alice upload it 2 NULL",
			"t1 run-root gap-2 false resolved  which branch? [] bob say it 2 1"}},
		{"gaps", map[string]string{"session_id": "s1", "turn_id": "t2"}, "missing_id", nil},
		{"gaps", s2, "missing_id", nil},
		{"injected-never-assembled", nil, "injection_id", nil},
		{"checks", nil, "violations", []string{"0", "0", "0", "0", "0", "0", "0", "0", "0"}},
		{"event-types", s2, "event_type events", []string{"context.log.appended 7", "context.usage.recorded 5", "context.compaction.completed 2", "context.elision.applied 1", "context.summary.created 1"}},
	}
	for _, test := range tests {
		var got []string
		for _, row := range named(t, l, test.query, test.give, strings.Fields(test.columns)...) {
			got = append(got, strings.Join(row, " "))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %v: %s\n got %q\nwant %q", test.query, test.give, test.columns, got, test.want)
		}
	}
}

func TestWindowOfACall(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	const columns = "call_id position layer tokens tokens_full elided origin item_refs"
	tests := []struct {
		give map[string]string
		want []string
	}{
		{map[string]string{"session_id": "s1", "turn_id": "t1"}, []string{
			"call-1 0 system 100 100 false assembly []", "call-1 1 tool_results 300 300 false assembly [item-secret]", "call-1 2 retrieval 60 60 false assembly [item-doc]"}},
		{map[string]string{"session_id": "s1", "turn_id": "t2", "call_id": "call-2"}, []string{
			"call-2 0 system 100 100 false assembly []", "call-2 1 tool_results 50 300 true assembly [item-secret]", "call-2 2 retrieval 60 60 false assembly [item-doc]"}},
		{map[string]string{"session_id": "s2", "turn_id": "u1", "call_id": "i2"}, []string{
			"i2 0  10 10 false log [m0]", "i2 1 tool_calls 5 5 false log [f1]", "i2 2 tool_results 500 500 false log [r1]", "i2 3 tool_calls 5 5 false log [f2]"}},
		{map[string]string{"session_id": "s2", "turn_id": "u1"}, []string{
			"i4 0  20 20 false log [sum-item]", "i4 1 tool_calls 5 5 false log [f3]", "i4 2 tool_results 30 30 false log [r3]"}},
		{map[string]string{"session_id": "s2", "turn_id": "u1", "as_of": "2000-01-01T00:00:00Z"}, nil},
		// At that time, the ledger knew i2, but not the elision and the compaction.
		{map[string]string{"session_id": "s2", "turn_id": "u1", "as_of": "2026-11-20T08:00:33Z"}, []string{
			"i2 0  10 10 false log [m0]", "i2 1 tool_calls 5 5 false log [f1]", "i2 2 tool_results 500 500 false log [r1]", "i2 3 tool_calls 5 5 false log [f2]"}},
		{map[string]string{"session_id": "s2", "turn_id": "none"}, nil},
	}
	for _, test := range tests {
		var got []string
		for _, row := range named(t, l, "window", test.give, strings.Fields(columns)...) {
			got = append(got, strings.Join(row, " "))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v\n got %q\nwant %q", test.give, got, test.want)
		}
	}
}

func TestQueryOnlyReads(t *testing.T) {
	t.Parallel()
	s := ledgertest.Migrated.ClickHouse(t)
	writer, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	for name, dsn := range map[string]string{"writer": s.ClickHouseDSN(), "reader": s.ReaderDSN()} {
		l, err := ledger.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		for _, sql := range []string{
			"CREATE TABLE x (a UInt8) ENGINE = Memory", "INSERT INTO migrations VALUES (9, 'x')", "DROP DATABASE default", "ALTER TABLE x DELETE WHERE 1",
			"SYSTEM SHUTDOWN", "SET max_threads = 1; DROP TABLE x", "OPTIMIZE TABLE x",
		} {
			r, err := read.Of(l).Query(t.Context(), sql, nil, read.DefaultLimits())
			if err == nil {
				err = r.Close()
			}
			if !errors.Is(err, read.ErrReadOnly) && !errors.Is(err, read.ErrStatement) {
				t.Errorf("%s: %s: %v", name, sql, err)
			}
		}
		tests := []struct {
			sql    string
			limits read.Limits
			want   error
		}{
			{"SELECT number FROM system.numbers LIMIT 100", read.Limits{Rows: 10}, read.ErrLimit},
			{"SELECT count() FROM system.numbers", read.Limits{Time: time.Second}, read.ErrLimit},
			{"SELECT groupArray(number) FROM (SELECT number FROM system.numbers LIMIT 20000000)", read.Limits{Memory: 20 << 20}, read.ErrLimit},
			{"SELECT * FROM no_such_table", read.DefaultLimits(), read.ErrNotMigrated},
			{"SELECT {x:String}", read.DefaultLimits(), read.ErrStatement},
			{"SELECT no_such_column", read.DefaultLimits(), read.ErrStatement},
			{"SELECT no_such_column FROM events", read.DefaultLimits(), read.ErrNoColumn},
			{"SELEC 1", read.DefaultLimits(), read.ErrStatement},
		}
		for _, test := range tests {
			r, err := read.Of(l).Query(t.Context(), test.sql, nil, test.limits)
			if err == nil {
				for r.Next() {
				}
				err = r.Close()
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%s: %s: %v, want %v", name, test.sql, err, test.want)
			}
			t.Log(name, err)
		}
		if _, err := turn.Query(t.Context(), l, queries.Query{Name: "newer", SQL: "SELECT no_such_column FROM events"}, nil, read.DefaultLimits()); !errors.Is(err, read.ErrNotMigrated) {
			t.Errorf("%s: a named query of a later version: %v", name, err)
		}
		for _, value := range []string{"", "a'b", `back\slash`, "tab\tnew\nline", "ünï", "'; DROP TABLE x", "[x]", `{"a":1}`} {
			got := rows(t, l, "SELECT {x:String}", map[string]string{"x": value})
			if len(got) != 1 || got[0][0] != value {
				t.Errorf("%s: parameter %q came back as %q", name, value, got)
			}
		}
		if got := rows(t, l, "SELECT arraySum({x:Array(UInt8)}), {y:Array(String)}[1]", map[string]string{"x": "[1,2]", "y": `['a\'b']`}); fmt.Sprint(got) != "[[3 a'b]]" {
			t.Errorf("%s: array parameters: %q", name, got)
		}
	}
}

// unnoticed is a context whose end the connections meet before the context does.
type unnoticed struct{ context.Context }

func (unnoticed) Done() <-chan struct{} { return nil }
func (unnoticed) Err() error            { return nil }

// TestALateAnswerIsNoUnreachableServer: a query that is cut at the deadline of its context says so, also if
// the connection meets the deadline first.
func TestALateAnswerIsNoUnreachableServer(t *testing.T) {
	t.Parallel()
	l, err := ledger.Open(t.Context(), ledgertest.Migrated.ClickHouse(t).ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for name, ask := range map[string]func(ctx context.Context) error{
		"before the first row": func(ctx context.Context) error {
			var list []struct {
				N uint64 `ch:"n"`
			}
			return read.Of(l).Select(ctx, &list, "SELECT count() AS n FROM system.numbers", nil, read.DefaultLimits())
		},
		"between rows": func(ctx context.Context) error {
			r, err := read.Of(l).Query(ctx, "SELECT 1 UNION ALL SELECT count() FROM system.numbers", nil, read.DefaultLimits())
			if err != nil {
				return err
			}
			for r.Next() {
			}
			return r.Close()
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if err := ask(unnoticed{ctx}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ledger.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
