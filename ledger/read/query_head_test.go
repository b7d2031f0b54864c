package read_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestHeadsPersonasAndScratchpads: a persona that is refreshed is no change, and each turn
// pays for its own injections.
func TestHeadsPersonasAndScratchpads(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	persona := func(turn, name, from string) {
		c.in("s1", "th", turn, "run")
		inject := func(id, kind string, tokens *int64) {
			in := schema.Injection{InjectionID: turn + id, CallID: "call-" + turn, Target: "model", InjectionPoint: "model_input", InjectionKind: kind, Ephemeral: true, Tokens: tokens}
			if kind == "persona" {
				in.PersonaTo, in.PersonaFrom = name, from
			}
			c.add(&schema.InjectionApplied{Injection: in})
		}
		inject("p", "persona", num(30))
		if from != "" {
			inject("cue", "persona", num(5))
		}
		inject("r", "reminder", nil)
		inject("s", "reminder", num(7))
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
		{"injections-by-turn", map[string]string{"session_id": "s1", "injection_kind": "persona"}, "turn_id injections calls tokens", []string{"t1 1 1 30", "t2 1 1 30", "t3 2 1 35"}},
		{"injections-by-turn", s1, "turn_id injection_kind injections tokens unknown ephemeral", []string{
			"t1 persona 1 30 0 1", "t1 reminder 2 7 1 2", "t2 persona 1 30 0 1", "t2 reminder 2 7 1 2", "t3 persona 2 35 0 2", "t3 reminder 2 7 1 2"}},
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
