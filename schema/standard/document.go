// Package standard writes events as documents of the public standards: records of
// the Agent Context standard, its events, and events of the runtime's profile.
//
//	Document, Sources   what a fact says is the case, as the standard's object
//	Event               every event, as the standard's event
//	RuntimeEvent        every event, as the runtime's profile has it
//
// The same event gives the same bytes. Nothing is guessed: what the standard requires
// and the fact does not say is named in the member unstated.
package standard

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind names a document of the Agent Context standard, in the words
// that the standard has for its objects.
type Kind string

// The kinds of [Document]. An item's sources come from
// [Sources], the event itself from [Event].
const (
	Envelope   Kind = "context_envelope"
	Surface    Kind = "context_surface"
	Item       Kind = "context_item"
	Selection  Kind = "context_selection"
	Budget     Kind = "context_budget"
	Assembly   Kind = "context_assembly"
	Compaction Kind = "context_compaction"
	Missing    Kind = "missing_context"
)

// version is the schema_version of the standard whose shape the
// documents have. A fact's own schema_version is that of its data.
const version = "0.1.0"

// ErrNoShape means that the other standard has no document for a fact
// of this type. It is no fault of the event: skip it.
var ErrNoShape = errors.New("no document of the standard has the shape of this fact")

// Document returns the record that e's fact is about as a document of
// the Agent Context standard. The same event gives the same bytes.
//
// A fact has a document when it says that something is the case: an envelope,
// surface, item, finished selection, budget, assembly, completed compaction or
// gap. A selection or compaction that only started, failed or was discarded,
// and an item that was removed, would look like one that stands, since the
// standard's records have no word for that; these and all other types yield
// [ErrNoShape] and have [Event]. A selection in parts is a
// document a part, with the members part and parts.
//
// Members keep the fact's names, also where the standard has no such name (its
// schemas are open). Added are:
//
//   - schema_version, that of the standard; created_at, the event's time: when
//     this state of the record came about;
//   - the event's correlation ids, by the names that they have in tables;
//   - event_ref, which says what event states this: its id, source and type.
//
// What the standard requires and the fact does not say is never guessed: such
// a member is the word unknown, or an empty list for visibility, and the member
// unstated lists the names. Derived are only: content_mode, from which of
// content and content_ref there is; ranking_signals, from the candidates';
// source_item_refs of a compaction that has none, as one reference to its
// source_window; scope custom with the word itself in custom_scope, for an
// envelope's scope that the standard does not list; and {"value": …} around
// freshness and validation that are neither text nor object.
//
// The event must meet the contract: else the error is the [schema.Violations] that
// [schema.Validate] reports, or [schema.ErrUnknownType].
func Document(e *schema.Event) (Kind, []byte, error) {
	fact, err := e.Accepted()
	if err != nil {
		return "", nil, err
	}
	return DocumentOf(e, fact)
}

// DocumentOf is [Document] for an event of which [schema.Validate]
// returned this fact and nothing against it.
func DocumentOf(e *schema.Event, fact schema.Fact) (Kind, []byte, error) {
	kind, r, err := documentRecord(e, fact)
	if err != nil {
		return "", nil, err
	}
	document, err := r.encode()
	return kind, document, err
}

// Sources returns the sources of e's item as documents of the Agent
// Context standard (context_source_ref), in the item's order; none for a fact
// of another type. A source known only by its URI has that as its source_id. A
// source that has neither is left to the item's own document: it could not be
// referred to. What else the standard requires and the fact does not say is
// unstated, as [Document] has it; the errors are the same. Added are
// item_ref, the correlation ids and event_ref.
func Sources(e *schema.Event) ([][]byte, error) {
	fact, err := e.Accepted()
	if err != nil {
		return nil, err
	}
	return SourcesOf(e, fact)
}

// SourcesOf is [Sources] for an event of which [schema.Validate] returned
// this fact and nothing against it.
func SourcesOf(e *schema.Event, fact schema.Fact) ([][]byte, error) {
	records, err := sourceRecords(e, fact)
	if err != nil {
		return nil, err
	}
	documents := make([][]byte, len(records))
	for i, r := range records {
		if documents[i], err = r.encode(); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// A record is a document in the making: its members by name. What comes from a
// fact is a [jsontext.Value].
type record map[string]any

// newRecord holds the members of value.
func newRecord(value any) (record, error) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the record: %w", err)
	}
	return membersOf(text), nil
}

// factRecord holds the members of e's fact.
func factRecord(e *schema.Event, fact schema.Fact) (record, error) {
	if text, ok := schema.EncodeData(e, fact); ok {
		return membersOf(text), nil
	}
	return newRecord(fact)
}

// membersOf holds the members of an object as an encoder writes it, with which they
// share their bytes.
func membersOf(text []byte) record {
	r := make(record, 48)
	for at := 1; text[at] == '"'; {
		colon := schema.StringEnd(text, at) + 1
		end := valueEnd(text, colon+1)
		r[string(schema.Unquoted(text[at:colon]))] = jsontext.Value(text[colon+1 : end : end])
		at = end
		if text[at] == ',' {
			at++
		}
	}
	return r
}

// valueEnd returns where the value of a member ends that begins at start.
func valueEnd(text []byte, start int) int {
	depth := 0
	for at := start; ; at++ {
		switch text[at] {
		case '"':
			at = schema.StringEnd(text, at)
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return at
			}
			if text[at] != ',' {
				depth--
			}
		}
	}
}

// trace adds what leads back to e: its ids and which event it is. An id that
// the record has already is the same, which rule 6 sees to.
func (r record) trace(e *schema.Event) {
	r["schema_version"] = version
	ref := make([]byte, 0, 256)
	for _, m := range [...]schema.Attribute{
		{Name: `{"event_type":`, Value: string(e.EventType())}, {Name: `,"id":`, Value: e.ID}, {Name: `,"source":`, Value: e.Source},
	} {
		ref, _ = jsontext.AppendQuote(append(ref, m.Name...), m.Value) // the contract has no invalid UTF-8
	}
	r["event_ref"] = jsontext.Value(append(ref, '}'))
	r.correlate(e)
}

func (r record) correlate(e *schema.Event) {
	for _, f := range schema.CorrelationFields {
		if id := *f.Of(&e.Correlation); id != "" {
			r[f.Column] = id
		}
	}
}

// require says of each member that the record lacks that it is unstated.
func (r record) require(names ...string) {
	var unstated []string
	for _, name := range names {
		if _, have := r[name]; have {
			continue
		}
		unstated = append(unstated, name)
		if name == "visibility" {
			r[name] = []string{}
		} else {
			r[name] = "unknown"
		}
	}
	if len(unstated) > 0 {
		r["unstated"] = unstated
	}
}

// wrap makes an object of a member that is neither text, object nor one of the
// other kinds that the standard allows there.
func (r record) wrap(name string, allowed ...jsontext.Kind) {
	value, have := r[name].(jsontext.Value)
	if !have || value.Kind() == '"' || value.Kind() == '{' {
		return
	}
	for _, kind := range allowed {
		if value.Kind() == kind {
			return
		}
	}
	r[name] = map[string]any{"value": value}
}

// encode writes the members sorted by name. Those of a fact are JSON already.
func (r record) encode() ([]byte, error) {
	names := slices.AppendSeq(make([]string, 0, len(r)), maps.Keys(r))
	slices.Sort(names)
	size := 2
	for name, value := range r {
		size += len(name) + 64 // and a short value
		if value, ok := value.(jsontext.Value); ok {
			size += len(value)
		}
	}
	b := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = jsontext.AppendQuote(b, name); err == nil {
			b, err = appendMember(append(b, ':'), r[name])
		}
		if err != nil {
			return nil, fmt.Errorf("encode the document: %w", err)
		}
	}
	return append(b, '}'), nil
}

func appendMember(b []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case jsontext.Value:
		return append(b, value...), nil
	case string:
		return jsontext.AppendQuote(b, value)
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	return append(b, text...), err
}
