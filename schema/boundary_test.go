package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// A ruleCase is an event and the violations that Validate finds in it: "code pointer", one per
// line, or nothing.
type ruleCase struct {
	name    string
	kind    Type
	members map[string]string
	want    string
}

func checkRuleCases(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := withMembers(t, c.kind, c.members)
			_, found := Validate(e)
			var got []string
			for _, v := range found {
				got = append(got, string(v.Code)+" "+v.Pointer)
				if v.Found == "" || v.Fix == "" {
					t.Errorf("%+v says too little", v)
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

type ms = map[string]string

func TestRule1RuntimeStatus(t *testing.T) {
	t.Parallel()
	const refused = "runtime_status "
	checkRuleCases(t, []ruleCase{
		{"turn_status at the top", TypeItemAdded, ms{"turn_status": `"completed"`}, refused + "/data/turn_status"},
		{"camel case", TypeItemAdded, ms{"taskStatus": `"x"`}, refused + "/data/taskStatus"},
		{"kebab and capitals", TypeItemAdded, ms{"Tool-Call-Succeeded": `true`}, refused + "/data/Tool-Call-Succeeded"},
		{"escaped name", TypeItemAdded, ms{`turn\u005fstatus`: ``, "x": `{"turn\u005fstatus":"completed"}`}, refused + "/data/x/turn_status"},
		{"a false that still declares", TypeItemAdded, ms{"task_failed": `false`}, refused + "/data/task_failed"},
		{"null declares nothing", TypeItemAdded, ms{"task_failed": `null`}, ""},
		{"status of an unknown object", TypeSelectionCompleted, ms{"turn": `{"id":"turn-3","status":"completed"}`}, refused + "/data/turn/status"},
		{"deep in arrays", TypeUsageRecorded, ms{"x": `[0,[{"a":1},{"a":[{"state":"Failed"}]}]]`}, refused + "/data/x/1/1/a/0/state"},
		{"a ref that carries status", TypeEnvelopeCreated, ms{"runtime_refs": `["a",{"id":"turn-3","status":"cancelled"}]`}, refused + "/data/runtime_refs/1/status"},
		{"the owner as a field", TypeItemAdded, ms{"approval": `"granted"`}, refused + "/data/approval"},
		{"the tool as a field", TypeItemAdded, ms{"tool": `"succeeded"`}, refused + "/data/tool"},
		{"an event of the runtime", TypeItemAdded, ms{"event": `"turn.completed"`}, refused + "/data/event"},
		{"status that names both", TypeItemAdded, ms{"status": `"Task completed"`}, refused + "/data/status"},
		{"a flag", TypeItemAdded, ms{"approved": `true`}, refused + "/data/approved"},
		{"a flag that is false", TypeItemAdded, ms{"approved": `false`}, ""},
		{"escaped value", TypeItemAdded, ms{"status": `"compl\u0065ted"`}, refused + "/data/status"},
		{"a name in metadata", TypeItemAdded, ms{"metadata": `{"deep":[{"run_status":"x"}]}`}, refused + "/data/metadata/deep/0/run_status"},
		{"a name in content", TypeItemAdded, ms{"content": `{"run_status":"x"}`}, refused + "/data/content/run_status"},
		{"log status of approval", TypeLogAppended, ms{"status": `"approved"`}, refused + "/data/status"},
		{"log status further down", TypeLogAppended, ms{"x": `{"status":"completed"}`}, refused + "/data/x/status"},
		{"pressure outcome of success", TypePressureApplied, ms{"outcome": `"succeeded"`}, refused + "/data/outcome"},
		{"both, after metadata", TypeItemAdded, ms{"metadata": `{"a":1}`, "zz": `{"status":"done"}`}, refused + "/data/zz/status"},
		{"after backslashes", TypeItemAdded, ms{"xx": `["\\\\","\"\\","\\\"{"]`, "zz": `{"status":"done"}`}, refused + "/data/zz/status"},
		{"all of them", TypeItemAdded, ms{"turn_status": `"a"`, "task_status": `"b"`}, refused + "/data/task_status\n" + refused + "/data/turn_status"},

		// What must stay possible.
		{"a title", TypeItemAdded, ms{"title": `"Task completed"`}, ""},
		{"a tool that approves", TypeResourceResolved, ms{"tools": `["approve_invoice","cancel_task"]`}, ""},
		{"a function of that name", TypeLogAppended, ms{"name": `"approve_invoice"`}, ""},
		{"log item status", TypeLogAppended, ms{"status": `"completed"`}, ""},
		{"log item failed", TypeLogAppended, ms{"status": `"failed"`}, ""},
		{"gap resolved", TypeMissingResolved, ms{"status": `"resolved"`}, ""},
		{"gap declined", TypeMissingResolved, ms{"status": `"declined"`}, ""},
		{"gap blocked", TypeMissingDetected, ms{"status": `"blocked"`}, ""},
		{"gap expired", TypeMissingResolved, ms{"status": `"expired"`}, ""},
		{"lifecycle injected", TypeEnvelopeCreated, ms{"lifecycle": `"injected"`}, ""},
		{"lifecycle archived", TypeEnvelopeCreated, ms{"lifecycle": `"archived"`}, ""},
		{"a rung that failed", TypePressureApplied, ms{"outcome": `"failed"`}, ""},
		{"a compaction's validation", TypeCompactionCompleted, ms{"validation": `{"status":"failed"}`}, ""},
		{"free metadata", TypeItemAdded, ms{"metadata": `{"status":"completed","approved":true,"event":"turn.completed"}`}, ""},
		{"nested free metadata", TypeEnvelopeCreated, ms{"item_refs": `[{"id":"a","metadata":{"ticket":{"status":"done"}}}]`}, ""},
		{"content that quotes", TypeItemAdded, ms{"content": `{"status":"completed"}`}, ""},
		{"text that quotes", TypeItemAdded, ms{"content": `"{\"turn_status\":\"completed\"}"`}, ""},
		{"provider's own words", TypeUsageRecorded, ms{"provider_usage": `{"status":"completed"}`}, ""},
		{"a query", TypeSelectionCompleted, ms{"query": `"turn.completed"`}, ""},
		{"a stop reason", TypeUsageRecorded, ms{"stop_reason": `"cancelled"`}, ""},
		{"ids", TypeItemAdded, ms{"source_refs": `[{"uri":"task:completed","source_kind":"tool_call"}]`}, ""},
		{"a reason", TypeItemRemoved, ms{"reason": `"task completed"`}, ""},
	})
}

func TestRule1OutsideTheData(t *testing.T) {
	t.Parallel()
	e := goldenEvent(t, TypeItemAdded)
	e.Extensions = map[string]string{"turnstatus": "completed", "other": "completed"}
	if _, found := Validate(e); len(found) != 1 || found[0].Code != CodeRuntimeStatus || found[0].Pointer != "/turnstatus" {
		t.Errorf("%v", found)
	}
	for kind, want := range map[string]int{"context.turn.completed": 2, "task.failed": 2, "context.tool_call.succeeded": 2, "context.item.pinned": 1} {
		e := goldenEvent(t, TypeItemAdded)
		e.Type = Type(kind).CloudEventsType()
		if fact, found := Validate(e); fact != nil || len(found) != want {
			t.Errorf("%s: %v", kind, found)
		}
	}
}

func TestRule2Permission(t *testing.T) {
	t.Parallel()
	const refused = "permission "
	checkRuleCases(t, []ruleCase{
		{"a grant", TypeMissingResolved, ms{"grants": `["workspace/**:read"]`}, refused + "/data/grants"},
		{"granted", TypeMissingResolved, ms{"x": `{"granted":true}`}, "runtime_status /data/x/granted\n" + refused + "/data/x/granted"},
		{"in metadata", TypeMissingResolved, ms{"metadata": `{"allowed_actions":["deploy"]}`}, refused + "/data/metadata/allowed_actions"},
		{"permission allowed", TypeMissingRequested, ms{"permission": `"allowed"`}, refused + "/data/permission"},
		{"response allow", TypeMissingResolved, ms{"response": `"Allow"`}, refused + "/data/response"},
		{"in a resolution", TypeMissingResolved, ms{"resolution_refs": `[{"id":"a","access":"granted"}]`}, refused + "/data/resolution_refs/0/access"},
		{"status approved", TypeMissingResolved, ms{"status": `"approved"`}, "runtime_status /data/status\n" + refused + "/data/status"},
		{"detected already allows", TypeMissingDetected, ms{"allowed": `true`}, refused + "/data/allowed"},

		{"nothing allowed", TypeMissingDetected, ms{"allowed": `false`}, ""},
		{"a policy decision referred to", TypeMissingResolved, ms{"resolution_refs": `["policy-decision-7"]`, "policy_refs": `["policy-1"]`}, ""},
		{"an action that approves", TypeMissingRequested, ms{"requested_action": `"approve"`, "blocked_actions": `["approve_invoice"]`}, ""},
		{"a source that is denied", TypeMissingDetected, ms{"candidate_sources": `[{"access":"read_denied"}]`}, ""},
		{"other facts grant", TypeGrantIssued, ms{"grants": `["a/**:read"]`}, ""},
		{"other facts allow", TypeResourceAccessed, ms{"allowed": `true`}, ""},
	})
}

func TestRule3Answer(t *testing.T) {
	t.Parallel()
	const refused = "marked_as_answer "
	checkRuleCases(t, []ruleCase{
		{"a flag", TypeCompactionCompleted, ms{"is_answer": `true`}, refused + "/data/is_answer"},
		{"final answer text", TypeSummaryCreated, ms{"final_answer": `"42"`}, refused + "/data/final_answer"},
		{"kind", TypeSummaryRefreshed, ms{"summary_kind": `"final_answer"`}, refused + "/data/summary_kind"},
		{"use", TypeCompactionCompleted, ms{"coverage": `{"use_as":"answer"}`}, refused + "/data/coverage/use_as"},
		{"in metadata", TypeCompactionCompleted, ms{"metadata": `{"isFinalAnswer":true}`}, refused + "/data/metadata/isFinalAnswer"},
		{"replacement policy", TypeCompactionCompleted, ms{"replacement_policy": `"answer"`}, refused + "/data/replacement_policy"},
		{"an item that is a summary", TypeItemAdded, ms{"content_mode": `"summary"`, "context_kind": `"final_answer"`}, refused + "/data/context_kind"},

		{"no answer", TypeCompactionCompleted, ms{"is_answer": `false`}, ""},
		{"a question about it", TypeSummaryCreated, ms{"open_questions": `["what is the final answer?"]`, "content": `"final answer"`}, ""},
		{"a blocked answer", TypeMissingDetected, ms{"blocked_actions": `["final_answer"]`}, ""},
		{"an item that is none", TypeItemAdded, ms{"context_kind": `"answer"`}, ""},

		{"no window", TypeCompactionStarted, ms{"source_item_refs": `[]`, "source_window": ``}, "no_source_window /data/source_item_refs"},
		{"an empty window", TypeCompactionFailed, ms{"source_item_refs": `[]`, "source_window": `{}`}, "no_source_window /data/source_item_refs"},
		{"only a window", TypeCompactionDiscarded, ms{"source_item_refs": `[]`}, ""},
		{"only items", TypeCompactionCompleted, ms{"source_window": ``}, ""},
		{"a summary of nothing", TypeSummaryCreated, ms{"source_item_refs": ``, "covers_through_position": ``}, "no_source_window /data/source_item_refs"},
		{"a summary of a prefix", TypeSummaryCreated, ms{"source_item_refs": ``, "covers_through_position": `0`}, ""},
	})
}

func TestRule4Conservation(t *testing.T) {
	t.Parallel()
	const not, sel, om = "candidates_not_conserved ", "selected_item_refs", "omitted_item_refs"
	two := `["a","b"]`
	checkRuleCases(t, []ruleCase{
		{"no reason", TypeSelectionCompleted, ms{"candidate_item_refs": two, sel: `["a"]`, om: `["b"]`}, "omission_without_reason /data/omitted_item_refs/0/reason"},
		{"both", TypeSelectionCompleted, ms{"candidate_item_refs": `["a"]`, sel: `["a"]`, om: `[{"item_ref":"a","reason":"stale"}]`}, not + "/data/omitted_item_refs/0"},
		{"neither", TypeSelectionCompleted, ms{"candidate_item_refs": two, sel: `["a"]`, om: `[]`}, not + "/data/candidate_item_refs/1"},
		{"twice", TypeSelectionCompleted, ms{"candidate_item_refs": `["a","a"]`, sel: `["a"]`, om: `[]`}, not + "/data/candidate_item_refs/1"},
		{"no candidate", TypeSelectionCompleted, ms{"candidate_item_refs": `["a"]`, sel: `["a","c"]`, om: `[{"item_ref":"d","reason":"stale"}]`}, not + "/data/selected_item_refs/1\n" + not + "/data/omitted_item_refs/0"},
		{"no item", TypeSelectionCompleted, ms{"candidate_item_refs": `["a"]`, sel: `["a",{"rank":1}]`, om: `[]`}, "required /data/selected_item_refs/1/item_ref"},
		{"object and string name one item", TypeSelectionCompleted, ms{"candidate_item_refs": `[{"id":"a"}]`, sel: `[{"item_ref":{"id":"a","uri":"x"}}]`, om: `[]`}, ""},
		{"a part", TypeSelectionCompleted, ms{"candidate_item_refs": two, sel: `["a"]`, om: `[]`, "part": `1`, "parts": `2`}, ""},
		{"a part without a reason", TypeSelectionCompleted, ms{"candidate_item_refs": two, sel: `[]`, om: `["b"]`, "part": `2`, "parts": `2`}, "omission_without_reason /data/omitted_item_refs/0/reason"},
		{"a part beyond", TypeSelectionCompleted, ms{"part": `3`, "parts": `2`}, "range /data/part"},
		{"parts without part", TypeSelectionCompleted, ms{"parts": `2`}, "range /data/part"},
		{"one of one still sums up", TypeSelectionCompleted, ms{"candidate_item_refs": two, sel: `["a"]`, om: `[]`, "part": `1`, "parts": `1`}, not + "/data/candidate_item_refs/1"},
		{"nothing selected", TypeSelectionCompleted, ms{"candidate_item_refs": `["a"]`, sel: `[]`, om: `[{"item_ref":"a","reason":"budget_limit"}]`}, ""},
	})
}

func TestRule5Redaction(t *testing.T) {
	t.Parallel()
	checkRuleCases(t, []ruleCase{
		{"no policy", TypeRedactionApplied, ms{"policy_refs": ``}, "redaction_without_policy /data/policy_refs"},
		{"empty policy", TypeRedactionApplied, ms{"policy_refs": `[]`}, "redaction_without_policy /data/policy_refs"},
		{"no reason", TypeRedactionApplied, ms{"reason": ``}, "required /data/reason"},
		{"injected content of a removed item", TypeInjectionApplied, ms{"redaction_state": `"removed"`, "content": `"x"`}, "withheld_content /data/content"},
		{"a block of a blocked item", TypeAssemblyCreated, ms{"ordered_blocks": `[{"block":"a"},{"block":"b","redaction_state":"policy_blocked","content":"x"}]`}, "withheld_content /data/ordered_blocks/1/content"},
		{"an item with its removed content", TypeItemUpdated, ms{"redaction_state": `"removed"`, "content": `"x"`}, "withheld_content /data/content"},
		{"masked content", TypeInjectionApplied, ms{"redaction_state": `"masked"`, "content": `"****"`}, ""},
		{"removed without content", TypeInjectionApplied, ms{"redaction_state": `"removed"`}, ""},
	})
}

// TestPartsAreReferences checks that events refer to images and files and do not contain them.
func TestPartsAreReferences(t *testing.T) {
	t.Parallel()
	checkRuleCases(t, []ruleCase{
		{"a part without reference", TypeItemAdded, ms{"parts": `[{"part_kind":"text","digest":"d"},{"part_kind":"image","digest":"d"}]`}, "required /data/parts/1/ref"},
		{"a text without digest", TypeItemAdded, ms{"parts": `[{"part_kind":"text"}]`}, "required /data/parts/0/ref"},
		{"a part of no kind", TypeItemUpdated, ms{"parts": `[{"ref":"file:a"}]`}, "required /data/parts/0/part_kind"},
		{"a part with its content", TypeItemAdded, ms{"parts": `[{"part_kind":"image","ref":"file:a","content":"aGk="}]`}, "inline_content /data/parts/0/content"},
		{"a part that is its own reference", TypeItemAdded, ms{"parts": `[{"part_kind":"image","ref":{"uri":"Data:image/png;base64,aGk="}}]`}, "inline_content /data/parts/0/ref"},
		{"parts by reference", TypeItemAdded, ms{"parts": `[{"part_kind":"image","ref":"file:a"},{"part_kind":"text","digest":"d"}]`}, ""},
		{"parts that are no list", TypeItemAdded, ms{"parts": `{"part_kind":"image"}`}, "type /data/parts"},
		{"a marker that is no list", TypeLogAppended, ms{"markers": `"refusal"`}, "type /data/markers"},
		{"a negative count of a layer", TypeUsageRecorded, ms{"layers": `[{"layer":"memory","reported_tokens":-1}]`}, "range /data/layers/0/reported_tokens"},
	})
}

func TestRule6Correlation(t *testing.T) {
	t.Parallel()
	const not = "id_mismatch /data/"
	checkRuleCases(t, []ruleCase{
		{"another id", TypeItemAdded, ms{"turn_id": `"turn-4"`}, not + "turn_id"},
		{"an id that the attributes lack", TypeItemAdded, ms{"task_id": `"task-1"`}, not + "task_id"},
		{"no string", TypeItemAdded, ms{"turn_id": `3`}, not + "turn_id"},
		{"two of them", TypeItemAdded, ms{"thread_id": `"x"`, "session_id": `"y"`}, not + "session_id\n" + not + "thread_id"},
		{"the same id", TypeItemAdded, ms{"turn_id": `"turn-3"`, "session_id": `"sess-7f3a"`}, ""},
		{"the same id, escaped", TypeItemAdded, ms{"turn_id": `"turn\u002d3"`}, ""},
		{"null", TypeItemAdded, ms{"turn_id": `null`}, ""},
		{"deeper down", TypeItemAdded, ms{"metadata": `{"turn_id":"turn-9"}`}, ""},
		{"a resource is no data subject", TypeResourceResolved, ms{"binding_id": `"res-9"`}, "id_mismatch /subject"},
		{"but elsewhere it is", TypeItemAdded, ms{"resource_id": `"user-1"`}, not + "resource_id"},
		{"the event type", TypeItemAdded, ms{"event_type": `"context.item.updated"`}, not + "event_type"},
	})
}

func TestMissingIsAnswerable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"question", "requested_from", "requested_action", "user_summary"} {
		checkRuleCases(t, []ruleCase{
			{"detected without " + name, TypeMissingDetected, ms{name: ``}, "required /data/" + name},
			{"resolved without " + name, TypeMissingResolved, ms{name: ``}, ""},
		})
	}
}

func TestEmptyListIsNothing(t *testing.T) {
	t.Parallel()
	checkRuleCases(t, []ruleCase{
		{"no blocks", TypeAssemblyCreated, ms{"ordered_blocks": `[]`}, "required /data/ordered_blocks"},
		{"no elided items", TypeElisionApplied, ms{"elided_item_refs": `[]`}, "required /data/elided_item_refs"},
	})
}

func TestRanges(t *testing.T) {
	t.Parallel()
	at := "range /data/sequences/0/ranges/"
	ranges := func(text string) ms { return ms{"sequences": `[{"source":"urn:x","ranges":` + text + `}]`} }
	checkRuleCases(t, []ruleCase{
		{"in order", TypeEnvelopeCreated, ranges(`[[0,0],[1,5],[9,9]]`), ""},
		{"reversed", TypeEnvelopeCreated, ranges(`[[5,1]]`), at + "0"},
		{"overlapping", TypeFactsDropped, ranges(`[[1,5],[5,6]]`), at + "1"},
		{"negative", TypeFactsDropped, ranges(`[[-1,5]]`), at + "0"},
		{"a step of the ladder", TypePressureApplied, ms{"step": `5`}, ""},
		{"a sixth step", TypePressureApplied, ms{"step": `6`}, "range /data/step"},
	})
}

// TestWalkVisitsEveryMember checks that the walk visits every member of any JSON.
func TestWalkVisitsEveryMember(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[a"\\{}\[\],:/~ é😀]{0,6}`)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kind := rapid.IntRange(0, 5).Draw(t, "kind")
			switch {
			case kind == 0 && depth < 5:
				return rapid.MapOfN(text, value(depth+1), 0, 4).Draw(t, "object")
			case kind == 1 && depth < 5:
				return rapid.SliceOfN(value(depth+1), 0, 4).Draw(t, "array")
			case kind == 2:
				return rapid.SampledFrom([]any{nil, true, false, -1.5e300}).Draw(t, "literal")
			}
			return text.Draw(t, "text")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		// What stands before and after any value is found where it stands.
		data, err := json.Marshal(map[string]any{"turn_status": "x", "v": value(0).Draw(t, "value"), "z": []any{map[string]any{"run_status": 1}}},
			json.Deterministic(true), jsontext.WithIndent(rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")))
		if err != nil {
			t.Fatal(err)
		}
		b := boundary{ruling: ruling{event: &Event{Data: data}}}
		if got := codes(b.check()); got != "runtime_status /data/turn_status\nruntime_status /data/z/0/run_status" {
			t.Fatalf("%s\n%s", got, data)
		}
		if b.scan.depth != 0 {
			t.Fatalf("%d open at the end of %s", b.scan.depth, data)
		}
	})
}

// TestBoundaryListsAreClosed checks that the rules can compare every word of the lists.
func TestBoundaryListsAreClosed(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for _, list := range BoundaryLists() {
		seen[list.Rule] = true
		for _, word := range list.Words {
			if f := fold(word); f == "" || len(f) > longestWord {
				t.Errorf("rule %d: %q cannot be compared", list.Rule, word)
			}
		}
	}
	if !seen[1] || !seen[2] || !seen[3] {
		t.Errorf("rules %v", seen)
	}
	// No name of our own types is refused by its name, save where a rule
	// speaks of other types.
	for name, means := range ownNames {
		if means != nil && (means.status || means.answer || means.statusFlag) {
			t.Errorf("our own field %s is on a list", name)
		}
	}
	if slices.Contains(statusNames(), "redaction_state") {
		t.Error("redaction_state is context")
	}
}

// withMembers returns the golden event of t with members set in its data.
func withMembers(t testing.TB, kind Type, members map[string]string) *Event {
	t.Helper()
	e := goldenEvent(t, kind)
	e.Data = schematest.SetMembers(t, e.Data, members)
	return e
}
