package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// TestHeadsPersonasAndScratchpads: a refreshed persona is not a change, and each turn pays for its
// own injections.
func TestHeadsPersonasAndScratchpads(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	persona := func(turn, name, from string) {
		c.in("s1", "th", turn, "run")
		inject := func(id, kind string, tokens *int64) {
			in := schema.Injection{InjectionID: turn + id, CallID: "call-" + turn, Target: "model", InjectionPoint: "model_input", InjectionKind: kind, Ephemeral: true, Tokens: tokens}
			if strings.HasPrefix(kind, "persona") {
				in.PersonaTo, in.PersonaFrom = name, from
			}
			c.add(&schema.InjectionApplied{Injection: in})
		}
		if from != "" {
			inject("cue", "persona_cue", num(5))
		}
		inject("p", "persona", num(30))
		inject("r", "reminder", nil)
		inject("s", "reminder", num(7))
		inject("u", "reminder", num(4))
		c.add(&schema.InjectionRemoved{Injection: schema.Injection{
			InjectionID: turn + "gone", CallID: "call-" + turn, Target: "model", InjectionPoint: "model_input", InjectionKind: "reminder", Tokens: num(90),
		}})
	}
	persona("t1", "analyst", "")
	persona("t2", "analyst", "")
	persona("t3", "CFO", "analyst")
	c.add(&schema.ScratchpadLoaded{Scratchpad: schema.Scratchpad{ScratchpadID: "load-1", ContextIDs: []string{"notes"}, EntryCount: num(2), Tokens: num(11)}})
	c.add(&schema.ScratchpadWritten{Scratchpad: schema.Scratchpad{ScratchpadID: "write-1", ContextIDs: []string{"notes", "plans"}}})
	l := c.write()
	s1 := map[string]string{"session_id": "s1"}
	for _, test := range []struct {
		query   string
		give    map[string]string
		columns string
		want    []string
	}{
		{"personas", s1, "turn_id call_id persona_from persona_to tokens", []string{"t1 call-t1  analyst 30", "t3 call-t3 analyst CFO 30"}},
		{"personas", map[string]string{"tenant": "other"}, "turn_id", nil},
		{"injections-by-turn", map[string]string{"session_id": "s1", "injection_kind": "persona"}, "turn_id injections calls tokens", []string{"t1 1 1 30", "t2 1 1 30", "t3 1 1 30"}},
		{"injections-by-turn", s1, "turn_id injection_kind injections tokens unknown ephemeral", []string{
			"t1 persona 1 30 0 1", "t1 reminder 3 11 1 3", "t2 persona 1 30 0 1", "t2 reminder 3 11 1 3", "t3 persona_cue 1 5 0 1", "t3 persona 1 30 0 1", "t3 reminder 3 11 1 3"}},
		{"scratchpads", s1, "turn_id operation scratchpad_id context_ids entries tokens", []string{"t3 written write-1 [notes plans] NULL NULL", "t3 loaded load-1 [notes] 2 11"}},
	} {
		var got []string
		for _, row := range named(t, l, test.query, test.give, strings.Fields(test.columns)...) {
			got = append(got, strings.Join(row, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %v:\n got %q\nwant %q", test.query, test.give, got, test.want)
		}
	}
}

// TestPersonaOfAWindow: a window names the persona of each of its blocks. A later persona, a
// persona of another thread and the cue of a change have no effect on other blocks. An item can
// become another persona later, or in another attempt. The window then shows its persona before the
// call, or the one that the call or its assembly names.
func TestPersonaOfAWindow(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	call := func(turn string, items ...string) {
		c.in("s1", "th", turn, "run-root")
		f := &schema.AssemblyCreated{AssemblyID: "assembly:" + turn, CallID: "call-" + turn, Target: "model"}
		for i, item := range items {
			f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{Block: fmt.Sprintf("b%d", i), ItemRefs: refs(item), Position: num(int64(i)), Tokens: num(5)})
		}
		c.add(f)
	}
	persona := func(thread, kind, item, name string) {
		c.in("s1", thread, "t0", "run-root")
		c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-" + item + name, Target: "model", InjectionKind: kind, ItemRefs: refs(item), PersonaTo: name}})
	}
	persona("th", "persona", "p1", "analyst")
	persona("other", "persona", "q1", "poet")
	call("t1", "p1", "q1", "ask")
	persona("th", "persona_cue", "cue", "CFO")
	persona("th", "persona", "p2", "CFO")
	call("t2", "ask", "cue", "p2")
	c.in("s1", "th", "t3", "run-root")
	c.entry("said", "message", "", "", 0, 5)
	c.entry("p2", "message", "", "", 1, 5)
	c.add(&schema.UsageRecorded{CallID: "call-t3", WindowFirst: num(0), WindowNext: num(2)})
	persona("th", "persona", "p1", "judge")
	c.in("s1", "th", "t4", "run-root")
	c.ids.AttemptID = "again"
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-again", Target: "model", InjectionKind: "persona", ItemRefs: refs("p1"), PersonaTo: "thief"}})
	c.ids.AttemptID = ""
	call("t4", "p1")
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-t5", CallID: "call-t5", Target: "model", InjectionKind: "persona", ItemRefs: refs("p1"), PersonaTo: "clerk"}})
	call("t5", "p1")
	call("t6", "p1")
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-t6", AssemblyID: "assembly:t6", Target: "model", InjectionKind: "persona", ItemRefs: refs("p1"), PersonaTo: "cook"}})
	persona("th", "persona", "p1", "last")
	l := c.write()
	for name, want := range map[string]string{"t1": "analyst,,", "t2": ",,CFO", "t3": ",CFO", "t4": "judge", "t5": "clerk", "t6": "cook"} {
		arguments := map[string]string{"session_id": "s1", "turn_id": name}
		blocks, _, err := turn.Window(t.Context(), l, arguments)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range blocks {
			got = append(got, b.Persona)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		same(t, arguments, blocks, selected[turn.Block](t, l, "window", arguments))
	}
}
