// Package standard writes events as documents of the public standards: records of the Agent
// Context standard, its events, and events of the Agent Runtime profile.
//
//	Document, Sources   the record of a fact, as the standard's object
//	Event               every event, as the standard's event
//	RuntimeEvent        events of context, in the runtime's profile
//
// The same event gives the same bytes. No value is guessed: the member unstated names the
// required members that the fact does not have.
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

// Kind names a document of the Agent Context standard, in the words of the standard.
type Kind string

// The kinds of [Document]. [Sources] writes the sources of an item. [Event] writes the event itself.
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

// version is the schema_version of the standard whose shape the documents have. The
// schema_version of a fact describes the data of the fact.
const version = "0.1.0"

// ErrNoShape means that the other standard has no document for facts of this type. The event
// itself is valid: skip it.
var ErrNoShape = errors.New("the standard has no document for this type of fact")

// Document returns the record of e's fact as a document of the Agent Context standard. The same
// event gives the same bytes.
//
// A fact has a document if it states the content of a record: an envelope, surface, item,
// finished selection, budget, assembly, completed compaction or gap. All other types yield
// [ErrNoShape]; [Event] writes them. The standard's records have no word for a selection or
// compaction that only started, failed or was discarded, or for a removed item. A document of
// such a fact would look like a valid record. A selection in parts is one document per part, with
// the members part and parts.
//
// Members keep the fact's names, including names that the standard does not define (its schemas
// are open). These members are added:
//
//   - schema_version: the version of the standard;
//   - created_at: the event's time, at which this state of the record began;
//   - the event's correlation ids, by their names in tables;
//   - event_ref: the id, source and type of the event.
//
// A required member that the fact does not have is never guessed. Its value is the word unknown,
// or an empty list for visibility. The member unstated lists the names. Only these members are
// derived:
//
//   - content_mode, from the presence of content and content_ref;
//   - ranking_signals, from the signals of the candidates;
//   - source_item_refs of a compaction without any, as one reference to its source_window;
//   - scope: an envelope's scope outside the standard's list becomes custom, and custom_scope holds
//     the original word;
//   - freshness and validation: a value that is neither text nor object becomes {"value": …}.
//
// The event must meet the contract. Otherwise the error is the [schema.Violations] of
// [schema.Validate], or [schema.ErrUnknownType].
func Document(e *schema.Event) (Kind, []byte, error) {
	fact, err := e.Accepted()
	if err != nil {
		return "", nil, err
	}
	return DocumentOf(e, fact)
}

// DocumentOf is [Document] for a valid event with the fact that [schema.Validate] returned.
func DocumentOf(e *schema.Event, fact schema.Fact) (Kind, []byte, error) {
	kind, r, err := documentRecord(e, fact)
	if err != nil {
		return "", nil, err
	}
	document, err := r.encode()
	return kind, document, err
}

// Sources returns the sources of e's item as documents of the Agent Context standard
// (context_source_ref), in the item's order. A fact of another type has no sources. A source with
// a URI and no id has the URI as its source_id. A source with neither is only in the item's own
// document, because no reference to it is possible. Other required members that the fact does not
// have are unstated, as in [Document]; the errors are the same. item_ref, the correlation ids and
// event_ref are added.
func Sources(e *schema.Event) ([][]byte, error) {
	fact, err := e.Accepted()
	if err != nil {
		return nil, err
	}
	return SourcesOf(e, fact)
}

// SourcesOf is [Sources] for a valid event with the fact that [schema.Validate] returned.
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

// A record holds the members of an unfinished document, by name. Members of a fact are
// [jsontext.Value].
type record map[string]any

// newRecord returns the members of value.
func newRecord(value any) (record, error) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the record: %w", err)
	}
	return membersOf(text), nil
}

// factRecord returns the members of e's fact.
func factRecord(e *schema.Event, fact schema.Fact) (record, error) {
	if text, ok := schema.EncodeData(e, fact); ok {
		return membersOf(text), nil
	}
	return newRecord(fact)
}

// membersOf returns the members of an encoded object. They share the bytes of text.
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

// valueEnd returns the end of the member value that begins at start.
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

// trace adds the ids and the reference that lead back to e. An id that the record already has is
// equal; rule 6 checks this.
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

// require adds each missing member of names to the member unstated.
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

// wrap makes an object of a member that is neither text nor object nor one of the allowed kinds.
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

// encode writes the members sorted by name. The members of a fact are already JSON.
func (r record) encode() ([]byte, error) {
	names := slices.AppendSeq(make([]string, 0, len(r)), maps.Keys(r))
	slices.Sort(names)
	size := 2
	for name, value := range r {
		size += len(name) + 64 // and space for a short value
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
