package standard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// memberOf returns the compact text of one member of a document. It returns "" for a missing
// member.
func memberOf(t testing.TB, document []byte, name string) string {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		t.Fatal(err)
	}
	return string(members[name])
}

// TestStandardMapping checks every mapping other than plain copies.
func TestStandardMapping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    schema.Type
		members ms // of the golden fact; "" removes
		want    ms // of the document; "" is absent
	}{
		{"time becomes created_at", schema.TypeBudgetApplied, nil, ms{"created_at": `"2026-03-02T09:00:12.2Z"`, "unstated": ""}},
		{"the event is named", schema.TypeBudgetApplied, nil, ms{"event_type": "",
			"event_ref": `{"event_type":"context.budget.applied","id":"0195565d-0011-7000-8000-000000000011","source":"urn:ctxledger:runtime:bench-1:host-a"}`}},
		{"the version is the standard's", schema.TypeBudgetApplied, ms{"schema_version": `"7"`}, ms{"schema_version": `"0.1.0"`}},
		{"unknown is not zero", schema.TypeBudgetApplied, ms{"actual_tokens": "", "max_items": ""}, ms{"actual_tokens": "", "max_items": ""}},
		{"a listed scope stays", schema.TypeEnvelopeCreated, nil, ms{"scope": `"turn"`, "custom_scope": ""}},
		{"another scope is custom", schema.TypeEnvelopeCreated, ms{"scope": `"run"`}, ms{"scope": `"custom"`, "custom_scope": `"run"`}},
		{"a surface's scope is not guessed", schema.TypeSurfaceCreated, ms{"scope": ""}, ms{"scope": `"unknown"`, "unstated": `["scope"]`}},
		{"an item says what it does not know", schema.TypeItemAdded, ms{"visibility": "", "context_kind": "", "content_mode": "", "content_ref": ""},
			ms{"visibility": `[]`, "context_kind": `"unknown"`, "content_mode": `"unknown"`, "unstated": `["context_kind","content_mode","visibility"]`}},
		{"content tells its mode", schema.TypeItemAdded, ms{"content_mode": "", "content": `0`, "content_ref": ""}, ms{"content_mode": `"inline"`, "unstated": ""}},
		{"so does a reference", schema.TypeItemAdded, ms{"content_mode": ""}, ms{"content_mode": `"ref"`, "unstated": ""}},
		{"freshness as text", schema.TypeItemAdded, nil, ms{"freshness": `"fresh"`}},
		{"freshness as an object", schema.TypeItemAdded, ms{"freshness": `{"age":1}`}, ms{"freshness": `{"age":1}`}},
		{"freshness as a number", schema.TypeItemAdded, ms{"freshness": `3`}, ms{"freshness": `{"value":3}`}},
		{"signals by item", schema.TypeSelectionCompleted, nil, ms{"ranking_signals": `{"item-backoff":{"bm25":7.1,"recency":0.8}}`}},
		{"no signals, no member", schema.TypeSelectionCompleted, ms{"candidate_item_refs": "", "selected_item_refs": `["a"]`, "omitted_item_refs": ""},
			ms{"ranking_signals": "", "selected_item_refs": `[{"item_ref":"a"}]`}},
		{"a part says so", schema.TypeSelectionCompleted, ms{"part": "1", "parts": "2"}, ms{"part": "1", "parts": "2"}},
		{"named sources stay", schema.TypeCompactionCompleted, nil, ms{"source_item_refs": `["log-1","log-2","log-3"]`}},
		{"a window is a source", schema.TypeCompactionCompleted, ms{"source_item_refs": "[]", "source_window": `{"thread_id":"t","first_position":0}`},
			ms{"source_item_refs": `[{"source_window":{"thread_id":"t","first_position":0}}]`}},
		{"a method is not guessed", schema.TypeCompactionCompleted, ms{"method": "", "validation": "true"},
			ms{"method": `"unknown"`, "unstated": `["method"]`, "validation": `{"value":true}`}},
		{"a gap says what it does not know", schema.TypeMissingResolved, ms{"scope": "", "question": "", "severity": ""},
			ms{"status": `"resolved"`, "unstated": `["scope","question","severity"]`}},
	} {
		_, document, err := Document(withMembers(t, c.kind, c.members))
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
	e := withMembers(t, schema.TypeItemAdded, ms{"source_refs": `["file:///a", "src-b", {"digest":"d"}, {"source_id":"c","uri":"u:c","source_kind":"file","selector":7}]`})
	sources, err := Sources(e)
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
	if sources, err := Sources(goldenEvent(t, schema.TypeBudgetApplied)); len(sources) != 0 || err != nil {
		t.Errorf("a budget with sources: %s, %v", sources, err)
	}
}

// TestStandardShapes lists the facts without a document. A reader of the standard would mistake
// their documents for valid records.
func TestStandardShapes(t *testing.T) {
	t.Parallel()
	documents := []schema.Type{schema.TypeEnvelopeCreated, schema.TypeSurfaceCreated, schema.TypeSurfaceUpdated, schema.TypeItemAdded, schema.TypeItemUpdated, schema.TypeSelectionCompleted, schema.TypeBudgetApplied,
		schema.TypeAssemblyCreated, schema.TypeCompactionCompleted, schema.TypeMissingDetected, schema.TypeMissingRequested, schema.TypeMissingResolved}
	runtime := []schema.Type{schema.TypeSelectionCompleted, schema.TypeCompactionStarted, schema.TypeCompactionCompleted, schema.TypeCompactionFailed}
	for _, kind := range schema.Types() {
		e := goldenEvent(t, kind)
		_, _, err := Document(e)
		if has := !errors.Is(err, ErrNoShape); has != slices.Contains(documents, kind) {
			t.Errorf("%s: document %v, %v", kind, has, err)
		}
		_, err = RuntimeEvent(e)
		if has := !errors.Is(err, ErrNoShape); has != slices.Contains(runtime, kind) {
			t.Errorf("%s: runtime event %v, %v", kind, has, err)
		}
	}
}

// TestStandardRefusesBadEvents checks that events outside the contract are not exported.
func TestStandardRefusesBadEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    schema.Type
		members ms
		code    schema.Code
	}{
		{schema.TypeItemAdded, ms{"redaction_state": `"removed"`, "content": `"s3cret"`}, schema.CodeWithheld},
		{schema.TypeAssemblyCreated, ms{"ordered_blocks": `[{"block":"b","redaction_state":"policy_blocked","content":"s3cret"}]`}, schema.CodeWithheld},
		{schema.TypeCompactionCompleted, ms{"turn_status": `"completed"`}, schema.CodeRuntimeStatus},
		{schema.TypeMissingDetected, ms{"permission_granted": `true`}, schema.CodeRuntimeStatus},
		{schema.TypeEnvelopeCreated, ms{"context_id": `"another"`}, schema.CodeIDMismatch},
		{schema.TypeSelectionCompleted, ms{"omitted_item_refs": `[]`}, schema.CodeNotConserved},
	} {
		e := withMembers(t, c.kind, c.members)
		_, _, err := Document(e)
		_, eventErr := Event(e)
		_, sourceErr := Sources(e)
		_, runtimeErr := RuntimeEvent(e)
		for name, err := range map[string]error{"document": err, "event": eventErr, "sources": sourceErr, "runtime": runtimeErr} {
			var found schema.Violations
			if !errors.As(err, &found) || found[0].Code != c.code || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s of %s with %v: %v, want %s", name, c.kind, c.members, err, c.code)
			}
		}
	}
}

// TestStandardUnknownType checks that a fact of a newer producer is exported as an event.
func TestStandardUnknownType(t *testing.T) {
	t.Parallel()
	e := goldenEvent(t, schema.TypeBudgetApplied)
	e.Type = "dev.ctxledger.context.invented.later.v1"
	e.Data = []byte(`{"event_type":"context.invented.later","new":{"x":1},"policy_refs":["p"]}`)
	document, err := Event(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := memberOf(t, document, "data"); got != string(e.Data) {
		t.Errorf("data %s", got)
	}
	if memberOf(t, document, "event_type") != `"context.invented.later"` || memberOf(t, document, "policy_refs") != `["p"]` {
		t.Errorf("%s", document)
	}
	_, _, err = Document(e)
	if !errors.Is(err, schema.ErrUnknownType) {
		t.Errorf("a document of an unknown type: %v", err)
	}
	for name, change := range map[string]func(*schema.Event){
		"not ours":          func(e *schema.Event) { e.Type = "com.example.thing" },
		"data is a list":    func(e *schema.Event) { e.Data = []byte(`[1]`) },
		"data is no JSON":   func(e *schema.Event) { e.Data = []byte(`{"a"`) },
		"no data":           func(e *schema.Event) { e.Data = nil },
		"no time":           func(e *schema.Event) { e.Time = goldenEvent(t, schema.TypeBudgetApplied).RecordedTime },
		"bad references":    func(e *schema.Event) { e.Data = []byte(`{"policy_refs":[1]}`) },
		"declares a status": func(e *schema.Event) { e.Type = "dev.ctxledger.context.turn.completed.v1" },
	} {
		bad := *e
		change(&bad)
		if document, err := Event(&bad); err == nil {
			t.Errorf("%s: exported as %s", name, document)
		}
	}
}

// TestRuntimeEventNeedsIDs checks that the error names all required ids that the event lacks.
func TestRuntimeEventNeedsIDs(t *testing.T) {
	t.Parallel()
	lacking := func(change func(*schema.Event)) string {
		e := goldenEvent(t, schema.TypeCompactionCompleted)
		change(e)
		_, err := RuntimeEvent(e)
		var found schema.Violations
		errors.As(err, &found)
		var names []string
		for _, v := range found {
			names = append(names, string(v.Code)+" "+v.Pointer)
		}
		return strings.Join(names, ", ")
	}
	for want, change := range map[string]func(*schema.Event){
		"":                                     func(e *schema.Event) { e.StepID, e.RunID, e.ContextID, e.TraceParent = "", "", "", "" },
		"required /runtimeid":                  func(e *schema.Event) { e.RuntimeID = "" },
		"required /sessionid":                  func(e *schema.Event) { e.SessionID = "" },
		"required /sequence":                   func(e *schema.Event) { e.Sequence = nil },
		"required /threadid, required /turnid": func(e *schema.Event) { e.ThreadID, e.TurnID = "", "" },
	} {
		if got := lacking(change); got != want {
			t.Errorf("lacking %q, want %q", got, want)
		}
	}
}
