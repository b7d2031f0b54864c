package standard

import (
	"slices"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Event returns e as an event document of the Agent Context standard.
// The same event gives the same bytes, and nothing of it is lost, so that its
// [schema.Event.Digest] can be worked out again: data, the last member, holds the
// bytes of the event's data as they came, every correlation id stands at the top level by
// the name that it has in tables, and metadata holds every other CloudEvents
// attribute in its canonical string form (sequence, traceparent, extensions
// that this version does not know). The references to policy, evidence and
// telemetry are repeated where the standard looks for them.
//
// An event of a type that this version does not know is exported all the same,
// if its data is an object. Any other fault of the event is an error, the
// [schema.Violations] that [schema.Validate] reports.
func Event(e *schema.Event) ([]byte, error) {
	_, found := schema.Validate(e)
	found = slices.DeleteFunc(found, func(v *schema.Violation) bool { return v.Code == schema.CodeUnknownType })
	if e.EventType() == "" {
		found = append(found, &schema.Violation{Code: schema.CodeUnknownType, Pointer: "/type", Found: schema.Clip(e.Type), Fix: "export events of the form dev.ctxledger.<event_type>.v1"})
	}
	if e.Time.IsZero() && !e.EventType().Known() {
		found = append(found, &schema.Violation{Code: schema.CodeRequired, Pointer: "/time", Found: "no time", Fix: "say when the fact happened"})
	}
	if len(found) > 0 {
		return nil, found
	}
	r, err := eventReferences(e)
	if err != nil {
		return nil, err
	}
	r["schema_version"] = version
	r["event_id"], r["event_type"], r["source"] = e.ID, e.EventType(), e.Source
	r["time"] = schema.FormatTime(e.Time)
	if e.Subject != "" {
		r["subject"] = e.Subject
	}
	r.correlate(e)
	r["metadata"] = otherAttributes(e)
	text, err := r.encode()
	if err != nil {
		return nil, err
	}
	// An encoder would reformat the data, and the digest is over its bytes.
	return slices.Concat(text[:len(text)-1], []byte(`,"data":`), schema.TrimSpace(e.Data), []byte("}")), nil
}

// eventReferences starts the document with the references of the data, as
// objects and strings, and sees that the data is an object.
func eventReferences(e *schema.Event) (record, error) {
	var refs struct {
		PolicyRefs    []schema.Ref `json:"policy_refs,omitempty"`
		EvidenceRefs  []schema.Ref `json:"evidence_refs,omitempty"`
		TelemetryRefs []schema.Ref `json:"telemetry_refs,omitempty"`
	}
	if jsontext.Value(e.Data).Kind() != '{' {
		return nil, schema.Violations{{Code: schema.CodeType, Pointer: "/data", Found: schema.KindName(jsontext.Value(e.Data).Kind()), Fix: "send an object"}}
	}
	if err := json.Unmarshal(e.Data, &refs); err != nil {
		return nil, schema.Violations{schema.DecodeViolation(err)}
	}
	return newRecord(refs)
}

// otherAttributes are those that the document has no member for. The type
// attribute is among them: event_type is only a part of it.
func otherAttributes(e *schema.Event) map[string]string {
	rest := make(map[string]string)
	for _, a := range e.Attributes() {
		switch a.Name {
		case "id", "source", "subject", "time":
			continue
		}
		rest[a.Name] = a.Value
	}
	for _, f := range schema.CorrelationFields {
		delete(rest, f.Attribute)
	}
	return rest
}
