package read_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// TestACallOfTwoSlicesCounts: a call that two slices of a log cut counts once. So does a call that a slice
// and the whole log have. Its window is that of the whole log. The call before another one is not a record
// of the same call.
func TestACallOfTwoSlicesCounts(t *testing.T) {
	t.Parallel()
	const log, slice = "urn:ctxledger:import:codex:s9;r2;bare;0a", "urn:ctxledger:import:codex:s9:from:r4;r3;bare;0a"
	const whole = 1 << 40 // first position of the slice
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "s9")
	c.ids.RootRunID, c.ids.ParentRunID = "s9", ""
	call := func(source, id string, first, next, sequence, total, output int64) {
		f := &schema.UsageRecorded{CallID: id, Model: "m", WindowFirst: &first, WindowNext: &next, LineageID: "s9"}
		if output > 0 {
			f.Usage = schema.ProviderUsage{UncachedInput: num(10 * output), Output: &output}
			f.ProviderUsage = map[string]any{"total_token_usage": map[string]any{"input_tokens": total}}
		}
		if first == whole {
			f.WindowFirst, f.Known = nil, schema.Known{Coverage: schema.CoveragePartial, CoverageReasons: []string{"entries_missing"}}
		}
		if source == slice && id == "x3" {
			f.Usage.UncachedInput = num(31) // the records differ
		}
		if id == "y2" {
			f.Metadata = map[string]any{"begun_before_log": true}
		}
		c.source = source
		c.at(f, sequence)
	}
	enter := func(source, id string, position, sequence int64) {
		c.source = source
		c.at(&schema.LogAppended{LogItemID: id, ItemType: "message", Position: &position, Tokens: num(5)}, sequence)
	}
	scope := &schema.ScopeOpened{RunID: "s9", RootRunID: "s9", ScopeKind: "session"}
	c.source = log
	c.at(scope, 1)
	enter(log, "m0", 0, 2)
	call(log, "x1", 0, 1, 3, 100, 1)
	enter(log, "a1", 1, 4)
	call(log, "x2", 0, 2, 5, 0, 0) // the log ends within the call
	c.source = slice
	c.at(scope, whole)
	call(slice, "y2", whole, whole, whole+1, 300, 2)
	enter(slice, "a3", whole, whole+2)
	call(slice, "x3", whole, whole+1, whole+3, 600, 3)
	l := c.write()
	check := func(query, want string, columns ...string) {
		t.Helper()
		var got []string
		for _, row := range named(t, l, query, map[string]string{"session_id": "s9"}, columns...) {
			got = append(got, strings.Join(row, " "))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s has %s instead of %s", query, strings.Join(got, ", "), want)
		}
	}
	previous := func(call, want string) {
		t.Helper()
		arguments := map[string]string{"session_id": "s9", "turn_id": "t9", "call_id": call, "tenant": "acme"}
		blocks, size, err := turn.Window(t.Context(), l, arguments)
		if err != nil || len(blocks) == 0 {
			t.Fatalf("%s has %d blocks, %v", call, len(blocks), err)
		}
		same(t, call, blocks, selected[turn.Block](t, l, "window", arguments))
		delete(arguments, "turn_id")
		same(t, call, []*turn.Size{size}, selected[turn.Size](t, l, "call-size", arguments))
		if got := fmt.Sprint(blocks[0].PreviousCall, " ", len(blocks), " ", blocks[0].Coverage); got != want {
			t.Errorf("the call before %s, its blocks and coverage are %s instead of %s", call, got, want)
		}
	}
	check("sessions", "3 61 6", "calls", "uncached_input", "output")
	check("fidelity", "x1 1, x3 1, y2 1", "call", "sources")
	check("tellings", "x2 false", "call", "counts")
	check("cache-calls", "x1 first, y2 append, x3 append", "call_id", "cause")
	previous("x2", "x1 2 ") // asked for by its id

	// The whole log. The slice's records of its calls count no more.
	enter(log, "a2", 2, 6)
	call(log, "y2", 0, 3, 7, 300, 2)
	enter(log, "a3", 3, 8)
	call(log, "x3", 0, 4, 9, 600, 3)
	l = c.write()
	check("sessions", "3 60 6", "calls", "uncached_input", "output")
	check("fidelity", "x1 1 , x3 2 , y2 2 ", "call", "sources", "coverage")
	check("tellings", "x2 false "+log+", x3 true "+log+", x3 false "+slice+", y2 true "+log+", y2 false "+slice, "call", "counts", "source")
	check("cache-calls", "x1 first, y2 append, x3 append", "call_id", "cause")
	var differs []string
	for _, row := range named(t, l, "tellings", map[string]string{"session_id": "s9"}, "call", "differs") {
		differs = append(differs, strings.Join(row, " "))
	}
	same(t, "differs", differs, []string{"x2 []", "x3 []", "x3 [uncached_input window_tokens]", "y2 []", "y2 []"})
	same(t, "the size of x3", named(t, l, "call-size", map[string]string{"session_id": "s9", "call_id": "x3"}, "billed_tokens"), [][]string{{"30"}})
	previous("x3", "y2 4 ")
	previous("y2", "x1 3 ")

	// Two slices have a call under two ids, and the provider's id of its message. The one that came first
	// does not count.
	c.in("s8", "s8", "t8", "s8")
	c.ids.RootRunID, c.ids.ParentRunID = "s8", ""
	overlap := func(from, id string) {
		c.source = "urn:ctxledger:import:codex:s8:from:" + from + ";r3;bare;0a"
		c.add(&schema.ScopeOpened{RunID: "s8", RootRunID: "s8", ScopeKind: "session"})
		f := &schema.UsageRecorded{
			CallID: id, ProviderMessageID: "resp-1", Model: "m", Usage: schema.ProviderUsage{UncachedInput: num(1), Output: num(1)},
			ProviderUsage: map[string]any{"total_token_usage": map[string]any{"input_tokens": 9}},
		}
		f.Metadata = map[string]any{"begun_before_log": from == "r2"}
		c.at(f, 7)
	}
	shared := func(from, id string) {
		c.source, c.id = "urn:ctxledger:import:codex:s8:from:"+from+";r3;bare;0a", id
		c.add(&schema.LogAppended{LogItemID: id, ItemType: "message", Position: num(int64(len(from)))})
		c.id = ""
	}
	overlap("r2", "r2:call")
	shared("r2", "m1")
	shared("r2", "m2")
	overlap("r1", "r1.0:call")
	shared("r1", "m0")
	shared("r1", "m1")
	l = c.write()
	const facts = "SELECT events, log_entries, calls FROM session_summary WHERE session_id = 's8'"
	same(t, "session_summary", rows(t, l, facts, nil), [][]string{{"7", "3", "1"}}) // scopes, calls and entries
	same(t, "cache_bill", rows(t, l, "SELECT call_id FROM cache_bill WHERE session_id = 's8'", nil), [][]string{{"r1.0:call"}})
	same(t, "model_calls", rows(t, l, "SELECT call_id FROM model_calls WHERE session_id = 's8'", nil), [][]string{{"r1.0:call"}})
}
