package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of one event.
const (
	// MaxEventBytes is the default limit of an event's data. Larger candidate
	// sets are split into parts that say so.
	MaxEventBytes = 64 << 10
	// MaxIDBytes is the limit of an id, a source and every other attribute.
	MaxIDBytes = 1024
)

// Validate decodes the event and checks it against the contract. It returns
// the fact and every violation found, not only the first; a nil fact means
// that the data could not be read at all. An unknown type yields a single
// violation with [CodeUnknownType]: a publisher refuses such an event, a
// reader keeps it.
func Validate(e *Event) (Fact, Violations) {
	var found Violations
	add := func(err error) {
		var v *Violation
		if errors.As(err, &v) {
			found = append(found, v)
		}
	}
	add(e.checkEnvelope())
	if len(e.Data) > MaxEventBytes {
		found = append(found, &Violation{CodeTooLarge, "/data", strconv.Itoa(len(e.Data)) + " bytes",
			"keep data within " + strconv.Itoa(MaxEventBytes) + " bytes: refer to content instead of holding it, or split the candidates into parts"})
	}
	fact, err := e.Decode()
	if errors.Is(err, ErrUnknownType) {
		return nil, append(found, &Violation{CodeUnknownType, "/type", e.Type, "use one of the types that `ctxledger schema list` names"})
	}
	if err != nil {
		add(err)
		return nil, found
	}
	if e.Time.IsZero() {
		found = append(found, &Violation{CodeRequired, "/time", "no time", "say when the fact happened"})
	}
	if base := fact.Base(); base.Kind != fact.EventType() {
		found = append(found, &Violation{CodeIDMismatch, "/data/event_type", string(base.Kind), "set event_type to " + string(fact.EventType())})
	}
	found = append(found, checkFields(fact)...)
	found = append(found, checkCorrelation(e)...)
	return fact, append(found, checkRules(fact)...)
}

// checkEnvelope holds the CloudEvents rules that every event must meet before
// its type matters. The error is a [*Violation].
func (e *Event) checkEnvelope() error {
	for _, required := range []Attribute{{"id", e.ID}, {"source", e.Source}, {"type", e.Type}} {
		if required.Value == "" {
			return &Violation{CodeRequired, "/" + required.Name, "nothing", "every CloudEvent has an id, a source and a type"}
		}
	}
	for _, a := range e.Attributes() {
		if len(a.Value) > MaxIDBytes {
			return &Violation{CodeTooLarge, "/" + a.Name, strconv.Itoa(len(a.Value)) + " bytes", fmt.Sprintf("keep attributes within %d bytes", MaxIDBytes)}
		}
		if !utf8.ValidString(a.Value) || strings.ContainsFunc(a.Value, unicode.IsControl) {
			return &Violation{CodeAttribute, "/" + a.Name, "control characters or invalid UTF-8", "CloudEvents strings hold printable Unicode"}
		}
	}
	if types.ParseURIRef(e.Source) == nil {
		return &Violation{CodeAttribute, "/source", strconv.Quote(e.Source), "make the source a URI-reference, such as urn:ctxledger:runtime:<runtime>:<instance>"}
	}
	return nil
}

// checkCorrelation is boundary rule 6: an id at the top level of data must be
// the id that the attributes carry.
func checkCorrelation(e *Event) (found Violations) {
	dec := jsontext.NewDecoder(strings.NewReader(string(e.Data)))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		field := correlationColumns[name.String()]
		if field == nil || dec.PeekKind() != '"' {
			if dec.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if have := *field.Of(&e.Correlation); value.String() != have {
			found = append(found, &Violation{CodeIDMismatch, "/data/" + field.Column,
				fmt.Sprintf("data says %q, attribute %s says %q", value.String(), field.Attribute, have),
				"send the id as the attribute " + field.Attribute + " too"})
		}
	}
	return found
}

var correlationColumns = func() map[string]*CorrelationField {
	m := make(map[string]*CorrelationField)
	for i := range CorrelationFields {
		m[CorrelationFields[i].Column] = &CorrelationFields[i]
	}
	return m
}()
