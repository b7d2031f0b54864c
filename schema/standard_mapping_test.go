package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// memberOf returns the compact text of one member of a document, "" when it is
// not there.
func memberOf(t testing.TB, document []byte, name string) string {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		t.Fatal(err)
	}
	return string(members[name])
}

// TestStandardMapping states every mapping that is more than a copy.
func TestStandardMapping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    Type
		members ms // of the golden fact; "" removes
		want    ms // of the document; "" is absent
	}{
		{"time becomes created_at", TypeBudgetApplied, nil, ms{"created_at": `"2026-03-02T09:00:12.2Z"`, "unstated": ""}},
		{"the event is named", TypeBudgetApplied, nil, ms{"event_type": "",
			"event_ref": `{"event_type":"context.budget.applied","id":"0195565d-0011-7000-8000-000000000011","source":"urn:ctxledger:runtime:bench-1:host-a"}`}},
		{"the version is the standard's", TypeBudgetApplied, ms{"schema_version": `"7"`}, ms{"schema_version": `"0.1.0"`}},
		{"unknown is not zero", TypeBudgetApplied, ms{"actual_tokens": "", "max_items": ""}, ms{"actual_tokens": "", "max_items": ""}},
		{"a listed scope stays", TypeEnvelopeCreated, nil, ms{"scope": `"turn"`, "custom_scope": ""}},
		{"another scope is custom", TypeEnvelopeCreated, ms{"scope": `"run"`}, ms{"scope": `"custom"`, "custom_scope": `"run"`}},
		{"a surface's scope is not guessed", TypeSurfaceCreated, ms{"scope": ""}, ms{"scope": `"unknown"`, "unstated": `["scope"]`}},
		{"an item says what it does not know", TypeItemAdded, ms{"visibility": "", "context_kind": "", "content_mode": "", "content_ref": ""},
			ms{"visibility": `[]`, "context_kind": `"unknown"`, "content_mode": `"unknown"`, "unstated": `["context_kind","content_mode","visibility"]`}},
		{"content tells its mode", TypeItemAdded, ms{"content_mode": "", "content": `0`, "content_ref": ""}, ms{"content_mode": `"inline"`, "unstated": ""}},
		{"so does a reference", TypeItemAdded, ms{"content_mode": ""}, ms{"content_mode": `"ref"`, "unstated": ""}},
		{"freshness as text", TypeItemAdded, nil, ms{"freshness": `"fresh"`}},
		{"freshness as an object", TypeItemAdded, ms{"freshness": `{"age":1}`}, ms{"freshness": `{"age":1}`}},
		{"freshness as a number", TypeItemAdded, ms{"freshness": `3`}, ms{"freshness": `{"value":3}`}},
		{"signals by item", TypeSelectionCompleted, nil, ms{"ranking_signals": `{"item-backoff":{"bm25":7.1,"recency":0.8}}`}},
		{"no signals, no member", TypeSelectionCompleted, ms{"candidate_item_refs": "", "selected_item_refs": `["a"]`, "omitted_item_refs": ""},
			ms{"ranking_signals": "", "selected_item_refs": `[{"item_ref":"a"}]`}},
		{"a part says so", TypeSelectionCompleted, ms{"part": "1", "parts": "2"}, ms{"part": "1", "parts": "2"}},
		{"named sources stay", TypeCompactionCompleted, nil, ms{"source_item_refs": `["log-1","log-2","log-3"]`}},
		{"a window is a source", TypeCompactionCompleted, ms{"source_item_refs": "[]", "source_window": `{"thread_id":"t","first_position":0}`},
			ms{"source_item_refs": `[{"source_window":{"thread_id":"t","first_position":0}}]`}},
		{"a method is not guessed", TypeCompactionCompleted, ms{"method": "", "validation": "true"},
			ms{"method": `"unknown"`, "unstated": `["method"]`, "validation": `{"value":true}`}},
		{"a gap says what it does not know", TypeMissingResolved, ms{"scope": "", "question": "", "severity": ""},
			ms{"status": `"resolved"`, "unstated": `["scope","question","severity"]`}},
	} {
		_, document, err := StandardDocument(withMembers(t, c.kind, c.members))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for name, want := range c.want {
			if got := memberOf(t, document, name); got != want {
				t.Errorf("%s: %s is %s, want %s", c.name, name, got, want)
			}
		}
	}
}

func TestStandardSources(t *testing.T) {
	t.Parallel()
	e := withMembers(t, TypeItemAdded, ms{"source_refs": `["file:///a", "src-b", {"digest":"d"}, {"source_id":"c","uri":"u:c","source_kind":"file","selector":7}]`})
	sources, err := StandardSources(e)
	if err != nil || len(sources) != 3 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	for i, want := range []ms{
		{"source_id": `"file:///a"`, "uri": `"file:///a"`, "source_kind": `"unknown"`, "unstated": `["source_kind"]`, "item_ref": `"item-backoff"`},
		{"source_id": `"src-b"`, "uri": `"unknown"`, "unstated": `["uri","source_kind"]`, "created_at": ""},
		{"source_id": `"c"`, "uri": `"u:c"`, "selector": `{"value":7}`, "unstated": "", "turn_id": `"turn-3"`},
	} {
		for name, text := range want {
			if got := memberOf(t, sources[i], name); got != text {
				t.Errorf("source %d: %s is %s, want %s", i, name, got, text)
			}
		}
	}
	if sources, err := StandardSources(goldenEvent(t, TypeBudgetApplied)); len(sources) != 0 || err != nil {
		t.Errorf("a budget with sources: %s, %v", sources, err)
	}
}

// TestStandardShapes lists what has no document: a reader of the standard
// would take it for something that stands.
func TestStandardShapes(t *testing.T) {
	t.Parallel()
	documents := []Type{TypeEnvelopeCreated, TypeSurfaceCreated, TypeSurfaceUpdated, TypeItemAdded, TypeItemUpdated, TypeSelectionCompleted, TypeBudgetApplied,
		TypeAssemblyCreated, TypeCompactionCompleted, TypeMissingDetected, TypeMissingRequested, TypeMissingResolved}
	runtime := []Type{TypeSelectionCompleted, TypeCompactionStarted, TypeCompactionCompleted, TypeCompactionFailed}
	for _, kind := range Types() {
		e := goldenEvent(t, kind)
		_, _, err := StandardDocument(e)
		if has := !errors.Is(err, ErrNoStandardShape); has != slices.Contains(documents, kind) {
			t.Errorf("%s: document %v, %v", kind, has, err)
		}
		_, err = RuntimeEvent(e)
		if has := !errors.Is(err, ErrNoStandardShape); has != slices.Contains(runtime, kind) {
			t.Errorf("%s: runtime event %v, %v", kind, has, err)
		}
	}
}

// TestStandardRefusesBadEvents exports nothing that the contract refuses.
func TestStandardRefusesBadEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    Type
		members ms
		code    Code
	}{
		{TypeItemAdded, ms{"redaction_state": `"removed"`, "content": `"s3cret"`}, CodeWithheld},
		{TypeAssemblyCreated, ms{"ordered_blocks": `[{"block":"b","redaction_state":"policy_blocked","content":"s3cret"}]`}, CodeWithheld},
		{TypeCompactionCompleted, ms{"turn_status": `"completed"`}, CodeRuntimeStatus},
		{TypeMissingDetected, ms{"permission_granted": `true`}, CodeRuntimeStatus},
		{TypeEnvelopeCreated, ms{"context_id": `"another"`}, CodeIDMismatch},
		{TypeSelectionCompleted, ms{"omitted_item_refs": `[]`}, CodeNotConserved},
	} {
		e := withMembers(t, c.kind, c.members)
		_, _, err := StandardDocument(e)
		_, eventErr := StandardEvent(e)
		_, sourceErr := StandardSources(e)
		_, runtimeErr := RuntimeEvent(e)
		for name, err := range map[string]error{"document": err, "event": eventErr, "sources": sourceErr, "runtime": runtimeErr} {
			var found Violations
			if !errors.As(err, &found) || found[0].Code != c.code || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s of %s with %v: %v, want %s", name, c.kind, c.members, err, c.code)
			}
		}
	}
}

// TestStandardUnknownType keeps what a newer producer says as an event.
func TestStandardUnknownType(t *testing.T) {
	t.Parallel()
	e := goldenEvent(t, TypeBudgetApplied)
	e.Type = "dev.ctxledger.context.invented.later.v1"
	e.Data = []byte(`{"event_type":"context.invented.later","new":{"x":1},"policy_refs":["p"]}`)
	document, err := StandardEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := memberOf(t, document, "data"); got != string(e.Data) {
		t.Errorf("data %s", got)
	}
	if memberOf(t, document, "event_type") != `"context.invented.later"` || memberOf(t, document, "policy_refs") != `["p"]` {
		t.Errorf("%s", document)
	}
	_, _, err = StandardDocument(e)
	if !errors.Is(err, ErrUnknownType) {
		t.Errorf("a document of an unknown type: %v", err)
	}
	for name, change := range map[string]func(*Event){
		"not ours":          func(e *Event) { e.Type = "com.example.thing" },
		"data is a list":    func(e *Event) { e.Data = []byte(`[1]`) },
		"data is no JSON":   func(e *Event) { e.Data = []byte(`{"a"`) },
		"no data":           func(e *Event) { e.Data = nil },
		"no time":           func(e *Event) { e.Time = goldenEvent(t, TypeBudgetApplied).RecordedTime },
		"bad references":    func(e *Event) { e.Data = []byte(`{"policy_refs":[1]}`) },
		"declares a status": func(e *Event) { e.Type = "dev.ctxledger.context.turn.completed.v1" },
	} {
		bad := *e
		change(&bad)
		if document, err := StandardEvent(&bad); err == nil {
			t.Errorf("%s: exported as %s", name, document)
		}
	}
}

// TestRuntimeEventNeedsIDs names everything that the profile wants and the
// event lacks.
func TestRuntimeEventNeedsIDs(t *testing.T) {
	t.Parallel()
	lacking := func(change func(*Event)) string {
		e := goldenEvent(t, TypeCompactionCompleted)
		change(e)
		_, err := RuntimeEvent(e)
		var found Violations
		errors.As(err, &found)
		var names []string
		for _, v := range found {
			names = append(names, string(v.Code)+" "+v.Pointer)
		}
		return strings.Join(names, ", ")
	}
	for want, change := range map[string]func(*Event){
		"":                                     func(e *Event) { e.StepID, e.RunID, e.ContextID, e.TraceParent = "", "", "", "" },
		"required /runtimeid":                  func(e *Event) { e.RuntimeID = "" },
		"required /sessionid":                  func(e *Event) { e.SessionID = "" },
		"required /sequence":                   func(e *Event) { e.Sequence = nil },
		"required /threadid, required /turnid": func(e *Event) { e.ThreadID, e.TurnID = "", "" },
	} {
		if got := lacking(change); got != want {
			t.Errorf("lacking %q, want %q", got, want)
		}
	}
}
