package standard

import (
	"slices"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Event returns e as an event document of the Agent Context standard. The same event gives the
// same bytes. The document contains the whole event, and [schema.Event.Digest] can be computed
// from it:
//
//   - data, the last member, holds the original bytes of the event's data;
//   - every correlation id is at the top level, by its name in tables;
//   - metadata holds every other CloudEvents attribute in its canonical string form (sequence,
//     traceparent, unknown extensions).
//
// The references to policy, evidence and telemetry are repeated at the places that the standard
// defines.
//
// An event of an unknown type is also exported, if its data is an object. Any other fault of the
// event is an error: the [schema.Violations] of [schema.Validate].
func Event(e *schema.Event) ([]byte, error) {
	_, found := schema.Validate(e)
	found = slices.DeleteFunc(found, func(v *schema.Violation) bool { return v.Code == schema.CodeUnknownType })
	if e.EventType() == "" {
		found = append(found, &schema.Violation{Code: schema.CodeUnknownType, Pointer: "/type", Found: schema.Clip(e.Type), Fix: "export events of the form dev.ctxledger.<event_type>.v1"})
	}
	if e.Time.IsZero() && !e.EventType().Known() {
		found = append(found, &schema.Violation{Code: schema.CodeRequired, Pointer: "/time", Found: "no time", Fix: "set the time at which the fact happened"})
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
	// An encoder would reformat the data. The digest needs the original bytes.
	return slices.Concat(text[:len(text)-1], []byte(`,"data":`), schema.TrimSpace(e.Data), []byte("}")), nil
}

// eventReferences starts the document with the references of the data, as objects and strings.
// eventReferences checks that the data is an object.
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

// otherAttributes returns the attributes that have no member in the document. The type attribute
// is one of them, because event_type is only a part of it.
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
