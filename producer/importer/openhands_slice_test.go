package importer_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// conversationLines makes a conversation of the OpenHands SDK. The first line is its state, which has the use
// of all calls. Answers have one or two actions, and summaries replace events.
func conversationLines(t *rapid.T) (lines []string) {
	at := time.Date(2026, 2, 5, 11, 24, 1, 0, time.UTC)
	var uses, summaries, earlier []string
	add := func(source, payload string, args ...any) string {
		id := fmt.Sprint("e-", len(lines))
		at = at.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
		lines = append(lines, fmt.Sprintf(`{"id":%q,"timestamp":%q,"source":%q,%s}`, id, at.Format("2006-01-02T15:04:05.000000"), source, fmt.Sprintf(payload, args...)))
		return id
	}
	use := func(id string) string {
		return fmt.Sprintf(`{"model":"m","prompt_tokens":%d,"completion_tokens":%d,"cache_read_tokens":0,"cache_write_tokens":0,"response_id":%q}`,
			rapid.IntRange(1, 900).Draw(t, "input"), rapid.IntRange(1, 90).Draw(t, "output"), id)
	}
	if rapid.Bool().Draw(t, "titled") {
		uses = append(uses, use("title"))
	}
	add("agent", `"system_prompt":{"type":"text","text":"You are an agent."},"tools":[],"kind":"SystemPromptEvent"`)
	for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
		add("user", `"llm_message":{"role":"user","content":[{"type":"text","text":"text %d"}]},"kind":"MessageEvent"`, turn)
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			response := fmt.Sprint("resp-", len(lines))
			uses = append(uses, use(response))
			var actions []string
			for range rapid.IntRange(1, 2).Draw(t, "actions") {
				actions = append(actions, add("agent", `"thought":[],"action":{"command":"x","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"call-%d","tool_call":{"id":"call-%d","name":"terminal","arguments":"{}"},"llm_response_id":%q,"kind":"ActionEvent"`, len(lines), len(lines), response))
			}
			for _, action := range actions {
				earlier = append(earlier, action, add("environment", `"tool_name":"terminal","tool_call_id":%q,"observation":{"content":[{"type":"text","text":"text %d"}],"kind":"TerminalObservation"},"action_id":%q,"kind":"ObservationEvent"`,
					strings.Replace(action, "e-", "call-", 1), len(lines), action))
			}
			if rapid.IntRange(0, 4).Draw(t, "condensed") == 0 {
				response := fmt.Sprint("cond-", len(lines))
				summaries = append(summaries, use(response))
				add("environment", `"forgotten_event_ids":["%s"],"summary":"text %d","summary_offset":2,"llm_response_id":%q,"kind":"Condensation"`, strings.Join(earlier, `","`), len(lines), response)
				earlier = nil
			}
		}
	}
	state := `{"id":"cd945624-03b9-487e-bdd4-018e3f531dfd","agent":{"llm":{"model":"m"},"kind":"Agent"},"max_iterations":500,"stats":{"usage_to_metrics":{"agent":{"token_usages":[%s]},"condenser":{"token_usages":[%s]}}}}`
	return slices.Insert(lines, 0, fmt.Sprintf(state, strings.Join(uses, ","), strings.Join(summaries, ",")))
}

// stateUntil removes the use of calls that only the later events have.
func stateUntil(state string, later []string) string {
	for _, use := range regexp.MustCompile(`\{"model":"m",[^}]*"response_id":("[^"]*")\},?`).FindAllStringSubmatch(state, -1) {
		if slices.ContainsFunc(later, func(line string) bool { return strings.Contains(line, use[1]) }) {
			state = strings.Replace(state, use[0], "", 1)
		}
	}
	return strings.ReplaceAll(state, ",]", "]")
}

// TestSlicesOfConversations: slices of an OpenHands conversation, each with the conversation's state, give the
// sums of the whole, each call once, in any order. The call counts with the window of the slice that has its
// answer, also where the whole log came first. No id has two forms, also where a log has grown since its state
// was read. Windows of later slices are partial, and no window has an entry of a later slice.
func TestSlicesOfConversations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := conversationLines(t)
		cuts := []int{1, len(lines)}
		for range rapid.IntRange(1, 4).Draw(t, "cuts") {
			cuts = append(cuts, rapid.IntRange(3, len(lines)-1).Draw(t, "cut"))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var parts [][2]int
		for i, from := range cuts[:len(cuts)-1] {
			to := cuts[i+1]
			if rapid.IntRange(0, 3).Draw(t, "overlap") == 0 {
				to = min(to+rapid.IntRange(1, 9).Draw(t, "by"), len(lines))
			}
			parts = append(parts, [2]int{from, to})
		}
		grows := rapid.IntRange(0, 3).Draw(t, "whole") == 0
		if grows {
			parts = append(parts, [2]int{1, len(lines)})
		}
		read := func(part [2]int) imported {
			list := slices.Concat(lines[:1], lines[part[0]:part[1]])
			if grows && part[1] < len(lines) { // the state is older or newer than the slice
				from := rapid.IntRange(part[0], len(lines)).Draw(t, "state")
				list[0] = stateUntil(list[0], lines[from:])
			}
			return importAs(t, model.FormatOpenHands, "events", []byte(strings.Join(list, "\n")+"\n"), testOptions())
		}
		entries, windows := make(map[int][]int64), make(map[int]int64)
		told := &toldCalls{facts: make(map[string][32]byte)}
		whole := &toldCalls{facts: told.facts}
		for _, part := range rapid.Permutation(parts).Draw(t, "order") {
			got := read(part)
			checkValid(t, got.events)
			told.add(t, got)
			for _, e := range got.events {
				fact, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				u, _ := fact.(*schema.UsageRecorded)
				counts := strings.Contains(e.Source, ":counts:")
				if sliced := telling.Telling.IsSlice(toldAs(e)); sliced != (part[0] > 1 || counts) || u != nil && (u.LineageID == "cd945624-03b9-487e-bdd4-018e3f531dfd:background") != counts {
					t.Fatalf("lines %v have the source %s", part, e.Source)
				}
				switch fact := fact.(type) {
				case *schema.LogAppended:
					entries[part[0]] = append(entries[part[0]], *fact.Position)
				case *schema.UsageRecorded:
					if fact.WindowNext == nil {
						continue
					}
					windows[part[0]] = max(windows[part[0]], *fact.WindowNext)
					if partial := slices.Contains(fact.CoverageReasons, string(schema.PartialEntries)); partial != (part[0] > 1) {
						t.Errorf("lines %v have windows with %v", part, fact.CoverageReasons)
					}
				}
			}
		}
		for from, next := range windows {
			for other, positions := range entries {
				if other > from && len(positions) > 0 && slices.Min(positions) < next {
					t.Errorf("the windows after line %d have entries after line %d", from, other)
				}
			}
		}
		whole.add(t, read([2]int{1, len(lines)}))
		if got, want := told.sums(), whole.sums(); got != want {
			t.Errorf("calls, input and output of slices %v, of the whole %v; slices %v", got, want, parts)
		}
		for i, other := range telling.Elsewhere(told.records) {
			if u := told.usage[i]; other < 0 && u.WindowNext == nil && strings.HasPrefix(u.CallID, "resp-") {
				t.Errorf("the call %s counts without its window", u.CallID)
			}
		}
	})
}

// TestAConversationWithoutASlice: windows after the missing events are partial.
func TestAConversationWithoutASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := conversationLines(t)
		action := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "ActionEvent") })
		lacking := slices.Delete(slices.Clone(lines), action, action+1)
		for name, log := range map[string][]string{"whole": lines, "without an action": lacking} {
			got := importAs(t, model.FormatOpenHands, "events", []byte(strings.Join(log, "\n")+"\n"), testOptions())
			gap, begun := false, false
			for _, e := range got.events {
				fact, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				switch fact := fact.(type) {
				case *schema.LogAppended:
					begun = begun || fact.ItemType == "function_call_output"
				case *schema.UsageRecorded:
					if missing := slices.Contains(fact.CoverageReasons, string(schema.PartialSlice)); fact.WindowNext != nil && missing != (begun && name != "whole") {
						t.Errorf("%s: the call %s has %v", name, fact.CallID, fact.CoverageReasons)
					} else {
						gap = gap || missing
					}
				}
			}
		}
	})
}
