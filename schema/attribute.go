package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Attribute is one CloudEvents attribute in its canonical string form.
type Attribute struct{ Name, Value string }

// attribute describes one attribute that this version knows. Exactly one of text and format is
// set. text is for plain strings, format is for attributes with another type.
type attribute struct {
	name   string
	header string // in binary mode
	text   func(*Event) *string
	format func(*Event) string
}

func (a *attribute) value(e *Event) string {
	if a.text != nil {
		return *a.text(e)
	}
	return a.format(e)
}

// attributes lists every known attribute, sorted by name. attributeIndex maps a name to its
// index. The correlation ids come from [CorrelationFields].
var attributes, attributeIndex = func() ([]attribute, map[string]int) {
	list := []attribute{
		{name: "specversion", format: func(*Event) string { return "1.0" }},
		{name: "id", text: func(e *Event) *string { return &e.ID }},
		{name: "source", text: func(e *Event) *string { return &e.Source }},
		{name: "type", text: func(e *Event) *string { return &e.Type }},
		{name: "subject", text: func(e *Event) *string { return &e.Subject }},
		{name: "time", format: func(e *Event) string { return FormatTime(e.Time) }},
		{name: "datacontenttype", format: contentTypeOf},
		{name: "dataschema", text: func(e *Event) *string { return &e.DataSchema }},
		{name: "sequence", format: func(e *Event) string { return FormatSequence(e.Sequence) }},
		{name: "partitionkey", text: func(e *Event) *string { return &e.PartitionKey }},
		{name: "correlationid", text: func(e *Event) *string { return &e.CorrelationID }},
		{name: "causationid", text: func(e *Event) *string { return &e.CausationID }},
		{name: "recordedtime", format: func(e *Event) string { return FormatTime(e.RecordedTime) }},
		{name: "traceparent", text: func(e *Event) *string { return &e.TraceParent }},
		{name: "tracestate", text: func(e *Event) *string { return &e.TraceState }},
		{name: "dataclassification", text: func(e *Event) *string { return &e.DataClassification }},
	}
	for _, f := range CorrelationFields {
		list = append(list, attribute{name: f.Attribute, text: func(e *Event) *string { return f.Of(&e.Correlation) }})
	}
	slices.SortFunc(list, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	index := make(map[string]int, len(list))
	for i := range list {
		list[i].header = attributePrefix + list[i].name
		index[list[i].name] = i
	}
	return list, index
}()

// Attributes returns every attribute of e, including specversion, sorted by name, in canonical
// string form. Empty attributes are left out.
func (e *Event) Attributes() []Attribute {
	list := make([]Attribute, 0, 24+len(e.Extensions))
	e.known(func(a *attribute, value string) { list = append(list, Attribute{a.name, value}) })
	if len(e.Extensions) == 0 {
		return list
	}
	for name, value := range e.Extensions {
		if value != "" {
			list = append(list, Attribute{name, value})
		}
	}
	slices.SortFunc(list, func(a, b Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// known calls do with each attribute of e that this version knows, sorted by name. known
// allocates no list.
func (e *Event) known(do func(a *attribute, value string)) {
	for i := range attributes {
		if value := attributes[i].value(e); value != "" {
			do(&attributes[i], value)
		}
	}
}

// contentTypeOf returns the media type of the data. Data without a type is JSON, as in the
// CloudEvents JSON format.
func contentTypeOf(e *Event) string {
	if e.DataContentType == "" && len(e.Data) > 0 {
		return jsonType
	}
	return e.DataContentType
}

// Set stores the attribute called name, which must be in lower case. Set ignores an empty value.
func (e *Event) Set(name, value string) error {
	index, known := attributeIndex[name]
	switch {
	case name == "specversion":
		if value != "1.0" {
			return fmt.Errorf("specversion %q: only 1.0 is supported", Clip(value))
		}
		return nil
	case !known && !validExtensionName(name):
		return fmt.Errorf("attribute name %q: want lower-case letters and digits", Clip(name))
	case value == "":
		return nil
	case !known:
		if e.Extensions == nil {
			e.Extensions = make(map[string]string)
		}
		e.Extensions[name] = value
		return nil
	case attributes[index].text != nil:
		*attributes[index].text(e) = value
		return nil
	}
	switch name {
	case "datacontenttype":
		e.DataContentType = value
		return nil
	case "sequence":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return fmt.Errorf("sequence %q: want a decimal number from 0", Clip(value))
		}
		sequence := int64(n)
		e.Sequence = &sequence
		return nil
	}
	t, err := e.received.parseTime(name, value)
	if err != nil {
		return err
	}
	if t = t.UTC(); !validTime(t) {
		return fmt.Errorf("%s %q: want a year from %d to %d, which a DateTime64(9) can hold", name, value, minYear, maxYear)
	}
	if name == "time" {
		e.Time = t
	} else {
		e.RecordedTime = t
	}
	return nil
}

// The years that ClickHouse's DateTime64(9) can represent in full.
const (
	minYear = 1900
	maxYear = 2261
)

func validTime(t time.Time) bool {
	year := t.UTC().Year()
	return year >= minYear && year <= maxYear
}

// validExtensionName reports whether name follows the naming rule of CloudEvents. The rule
// reserves "data".
func validExtensionName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && name != "data"
}

// FormatTime writes t in UTC with all its fractional digits. FormatTime returns "" for the zero
// time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// FormatSequence pads n to 12 digits. The sequences of a session therefore also sort as strings.
func FormatSequence(n *int64) string {
	if n == nil {
		return ""
	}
	digits := strconv.FormatInt(*n, 10)
	if len(digits) >= 12 {
		return digits
	}
	return "000000000000"[:12-len(digits)] + digits
}

// Clip shortens s to 80 bytes for a message.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// FromAttributes returns the event with these attributes and this data. Attributes are in the
// canonical string form of [Event.Attributes]. The event aliases data. The attributes and data of
// an event give the same event again. The error is a [*Violation] that names the attribute.
func FromAttributes(list []Attribute, data []byte) (*Event, error) {
	e := &Event{Data: data}
	for _, a := range list {
		if err := e.Set(a.Name, a.Value); err != nil {
			return nil, &Violation{CodeAttribute, "/" + pointerToken(Clip(a.Name)), err.Error(), "correct the attribute"}
		}
	}
	return e, e.checkEnvelope()
}

// Correlation holds the runtime's ids of a fact. Evidence joins context by these ids to the turn,
// task or tool call that used the context. Ids are opaque strings. The empty string means that
// the runtime had no such id; CloudEvents allows no empty attribute.
type Correlation struct {
	Tenant      string
	Agent       string
	ResourceID  string // id of the data subject
	RuntimeID   string
	SessionID   string
	ThreadID    string
	TurnID      string
	TaskID      string
	RunID       string
	AttemptID   string
	StepID      string
	ToolCallID  string
	ActionID    string
	EvidenceID  string
	ContextID   string
	ParentRunID string
	RootRunID   string
}

// A CorrelationField describes one field of [Correlation]: its CloudEvents extension, and its
// name in JSON and in tables.
type CorrelationField struct {
	Attribute string // "sessionid"
	Column    string // "session_id"
	Of        func(*Correlation) *string
}

// CorrelationFields lists the fields of [Correlation] in the column order of tables. Codec,
// tables and documentation all use this list. The slice must not be changed.
var CorrelationFields = []CorrelationField{
	{"tenant", "tenant", func(c *Correlation) *string { return &c.Tenant }},
	{"agent", "agent", func(c *Correlation) *string { return &c.Agent }},
	{"resourceid", "resource_id", func(c *Correlation) *string { return &c.ResourceID }},
	{"runtimeid", "runtime_id", func(c *Correlation) *string { return &c.RuntimeID }},
	{"sessionid", "session_id", func(c *Correlation) *string { return &c.SessionID }},
	{"threadid", "thread_id", func(c *Correlation) *string { return &c.ThreadID }},
	{"turnid", "turn_id", func(c *Correlation) *string { return &c.TurnID }},
	{"taskid", "task_id", func(c *Correlation) *string { return &c.TaskID }},
	{"runid", "run_id", func(c *Correlation) *string { return &c.RunID }},
	{"attemptid", "attempt_id", func(c *Correlation) *string { return &c.AttemptID }},
	{"stepid", "step_id", func(c *Correlation) *string { return &c.StepID }},
	{"toolcallid", "tool_call_id", func(c *Correlation) *string { return &c.ToolCallID }},
	{"actionid", "action_id", func(c *Correlation) *string { return &c.ActionID }},
	{"evidenceid", "evidence_id", func(c *Correlation) *string { return &c.EvidenceID }},
	{"contextid", "context_id", func(c *Correlation) *string { return &c.ContextID }},
	{"parentrunid", "parent_run_id", func(c *Correlation) *string { return &c.ParentRunID }},
	{"rootrunid", "root_run_id", func(c *Correlation) *string { return &c.RootRunID }},
}
