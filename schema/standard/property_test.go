package standard

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// anyFact draws a fact of the type with every required field and some of the other fields. It
// also draws an event with some of the ids. Fact and event may break the rules.
func anyFact(t *rapid.T, kind schema.Type) (*schema.Event, schema.Fact) {
	fact := kind.New()
	f := schematest.Filler{T: t}
	v := reflect.ValueOf(fact).Elem()
	f.Fill(v)
	filled := rapid.SampledFrom([]string{"minimal", "maximal", "some"}).Draw(t, "filled")
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Anonymous || field.Tag.Get("ctx") == "required" || filled == "maximal" || filled == "some" && rapid.Bool().Draw(t, field.Name) {
			continue
		}
		v.FieldByIndex(field.Index).SetZero()
	}
	var ids schema.Correlation
	for _, field := range schema.CorrelationFields {
		if rapid.Bool().Draw(t, field.Attribute) {
			*field.Of(&ids) = f.Text()
		}
	}
	switch f := fact.(type) {
	case *schema.EnvelopeCreated: // rule 6
		ids.ContextID = f.ContextID
	case *schema.CompactionCompleted: // rule 3
		if len(f.SourceItemRefs) == 0 && f.SourceWindow == nil {
			f.SourceWindow = &schema.SourceWindow{ThreadID: "t"}
		}
	}
	e, err := schema.NewEvent(fact, "id", "urn:x", schematest.EventTime, ids)
	if err != nil {
		t.Fatal(err)
	}
	return e, fact
}

// TestStandardAnyFact maps sparse and full facts. Each document is valid. It has every id of the
// event, and every member of the fact with its value.
func TestStandardAnyFact(t *testing.T) {
	t.Parallel()
	s := needStandards(t)
	for _, kind := range schema.Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if _, _, err := documentRecord(goldenEvent(t, kind), kind.New()); errors.Is(err, ErrNoShape) {
				t.Skip(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				e, fact := anyFact(rt, kind)
				name, r, err := documentRecord(e, fact)
				if err != nil {
					rt.Fatal(err)
				}
				document := mustEncode(rt, r)
				holdDocument(rt, s, string(name), document, e)
				holdMembers(rt, document, e.Data)
				sources, err := sourceRecords(e, fact)
				if err != nil {
					rt.Fatal(err)
				}
				for _, source := range sources {
					holdDocument(rt, s, string(sourceKind), mustEncode(rt, source), e)
				}
			})
		})
	}
}

func mustEncode(t *rapid.T, r record) []byte {
	document, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// holdDocument checks the requirements of all documents.
func holdDocument(t *rapid.T, s standards, name string, document []byte, e *schema.Event) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err == nil {
		err = s.context[Kind(name)].Validate(value)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, document)
	}
	members := value.(map[string]any)
	for _, field := range schema.CorrelationFields {
		if id := *field.Of(&e.Correlation); id != "" && members[field.Column] != id {
			t.Fatalf("%s %q is %v in %s", field.Column, id, members[field.Column], document)
		}
	}
}

// restated are the members that may differ from the fact's: see
// [Document].
var restated = []string{"schema_version", "event_type", "scope", "source_item_refs", "freshness", "validation"}

func holdMembers(t *rapid.T, document, data []byte) {
	var exported, stated map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(document, &exported), json.Unmarshal(data, &stated)); err != nil {
		t.Fatal(err)
	}
	for name, value := range stated {
		if !slices.Contains(restated, name) && string(exported[name]) != string(value) {
			t.Fatalf("%s is %s in the fact and %s in the document", name, value, exported[name])
		}
	}
}

// TestRuntimeAnyFact checks the same requirements for events of the runtime.
func TestRuntimeAnyFact(t *testing.T) {
	t.Parallel()
	s := needStandards(t)
	for _, kind := range []schema.Type{schema.TypeSelectionCompleted, schema.TypeCompactionStarted, schema.TypeCompactionCompleted, schema.TypeCompactionFailed} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				e, fact := anyFact(rt, kind)
				if rapid.Bool().Draw(rt, "sequenced") {
					e.Sequence = new(rapid.Int64Range(0, 1<<62).Draw(rt, "sequence"))
				}
				e.TraceParent = rapid.SampledFrom([]string{"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "no-trace", "00-trace-span-01"}).Draw(rt, "traceparent")
				complete := e.RuntimeID != "" && e.SessionID != "" && e.ThreadID != "" && e.TurnID != "" && e.Sequence != nil
				r, err := runtimeRecord(e, fact)
				if (err == nil) != complete {
					rt.Fatalf("complete %v, error %v", complete, err)
				}
				if err != nil {
					return
				}
				document := mustEncode(rt, r)
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
				if err == nil {
					err = s.runtime.Validate(value)
				}
				if err != nil {
					rt.Fatalf("%v\n%s", err, document)
				}
				holdRuntimeIDs(rt, s, value.(map[string]any), e)
			})
		})
	}
}

// holdRuntimeIDs finds every id of the event: at the top where the runtime's
// schema has a member for it, and in correlation otherwise.
func holdRuntimeIDs(t *rapid.T, s standards, event map[string]any, e *schema.Event) {
	runtime := s.runtime.AllOf[0].Ref
	correlation := event["correlation"].(map[string]any)
	for _, field := range schema.CorrelationFields {
		name, id := camelCase(field.Column), *field.Of(&e.Correlation)
		got := correlation[name]
		if runtime.Properties[name] != nil {
			got = event[name]
		}
		if id != "" && got != id {
			t.Fatalf("%s %q is %v", name, id, got)
		}
	}
	if trace, has := event["traceId"]; has != (len(e.TraceParent) == 55) || has && trace != e.TraceParent[3:35] {
		t.Fatalf("trace %v of %q", trace, e.TraceParent)
	}
	if got := fmt.Sprint(event["sequence"]); got != fmt.Sprint(*e.Sequence) {
		t.Fatalf("sequence %d is %s", *e.Sequence, got)
	}
}
