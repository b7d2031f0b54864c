package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/types"
)

// Attribute is one CloudEvents attribute in its canonical string form.
type Attribute struct{ Name, Value string }

// textAttributes maps the attributes that are plain strings to their fields.
// The correlation ids are added from [CorrelationFields].
var textAttributes = func() map[string]func(*Event) *string {
	m := map[string]func(*Event) *string{
		"id":                 func(e *Event) *string { return &e.ID },
		"source":             func(e *Event) *string { return &e.Source },
		"type":               func(e *Event) *string { return &e.Type },
		"subject":            func(e *Event) *string { return &e.Subject },
		"datacontenttype":    func(e *Event) *string { return &e.DataContentType },
		"dataschema":         func(e *Event) *string { return &e.DataSchema },
		"partitionkey":       func(e *Event) *string { return &e.PartitionKey },
		"correlationid":      func(e *Event) *string { return &e.CorrelationID },
		"causationid":        func(e *Event) *string { return &e.CausationID },
		"traceparent":        func(e *Event) *string { return &e.TraceParent },
		"tracestate":         func(e *Event) *string { return &e.TraceState },
		"dataclassification": func(e *Event) *string { return &e.DataClassification },
	}
	for _, f := range CorrelationFields {
		m[f.Attribute] = func(e *Event) *string { return f.Of(&e.Correlation) }
	}
	return m
}()

// Attributes returns every attribute that e has, specversion included, sorted
// by name, in canonical string form.
func (e *Event) Attributes() []Attribute {
	list := make([]Attribute, 0, 24)
	list = append(list, Attribute{"specversion", "1.0"})
	for name, field := range textAttributes {
		if value := *field(e); value != "" {
			list = append(list, Attribute{name, value})
		}
	}
	if !e.Time.IsZero() {
		list = append(list, Attribute{"time", formatTime(e.Time)})
	}
	if !e.RecordedTime.IsZero() {
		list = append(list, Attribute{"recordedtime", formatTime(e.RecordedTime)})
	}
	if e.Sequence != nil {
		list = append(list, Attribute{"sequence", formatSequence(*e.Sequence)})
	}
	for name, value := range e.Extensions {
		list = append(list, Attribute{name, value})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// set stores the attribute called name, which must be in lower case.
func (e *Event) set(name, value string) error {
	if !validAttributeName(name) {
		return fmt.Errorf("attribute name %q: want lower-case letters and digits", name)
	}
	switch name {
	case "specversion":
		if value != "1.0" {
			return fmt.Errorf("specversion %q: only 1.0 is supported", value)
		}
		return nil
	case "time", "recordedtime":
		t, err := types.ParseTime(value)
		if err != nil {
			return fmt.Errorf("%s %q: want an RFC 3339 time", name, value)
		}
		if y := t.UTC().Year(); y < minYear || y > maxYear {
			return fmt.Errorf("%s %q: want a year from %d to %d, which a DateTime64(9) can hold", name, value, minYear, maxYear)
		}
		if name == "time" {
			e.Time = t.UTC()
		} else {
			e.RecordedTime = t.UTC()
		}
		return nil
	case "sequence":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("sequence %q: want a decimal number from 0", value)
		}
		e.Sequence = &n
		return nil
	}
	if field, ok := textAttributes[name]; ok {
		*field(e) = value
		return nil
	}
	if e.Extensions == nil {
		e.Extensions = make(map[string]string)
	}
	e.Extensions[name] = value
	return nil
}

// The years that ClickHouse's DateTime64(9) can represent in full.
const (
	minYear = 1900
	maxYear = 2261
)

func validAttributeName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// formatTime writes t in UTC with as many fractional digits as it has.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// formatSequence pads to 12 digits, so that the sequences of a session also
// sort as strings.
func formatSequence(n int64) string { return fmt.Sprintf("%012d", n) }
