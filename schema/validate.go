package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/types"

	"github.com/ctxledger/ctxledger/schema/internal/scan"
)

// Limits of one event.
const (
	// MaxEventBytes is the default limit of an event's data. Larger candidate sets are split into
	// numbered parts.
	MaxEventBytes = 64 << 10
	// MaxIDBytes is the limit of an id, a source and every other attribute.
	MaxIDBytes = 1024
	// MaxTokenBytes is the limit of an escaped tenant or runtime in a subject. Escaping makes three
	// bytes of one. NATS closes a connection that sends a line longer than 4 KiB.
	MaxTokenBytes = 256
	// MaxDepth is the maximum nesting of objects and arrays in an event's data.
	MaxDepth = 64
)

// Validate decodes the event and checks it against the contract. Validate returns the fact and
// all violations. The order of the violations depends only on the event. A nil fact means that
// the data was not readable. An unknown type yields a violation with [CodeUnknownType]. A
// publisher refuses the event of an unknown type. A reader keeps the event if it has no other
// violation.
func Validate(e *Event) (Fact, Violations) {
	fact, found := ValidateRecorded(e)
	return fact, CheckDigests(e, fact, CheckKnown(fact, CheckDoor(e, fact, found)))
}

// ValidateRecorded is [Validate] by the rules that hold at every position of a stream. Records of a
// ledger and of packs may be older than the rules of [CheckDoor], [CheckKnown] and [CheckDigests].
func ValidateRecorded(e *Event) (Fact, Violations) { return validate(e, e.checkAttributes()) }

// ReadMessage combines [ParseMessage] and [ValidateRecorded], and checks the attributes only once. A
// message that ParseMessage refuses is unread: its error is the only violation, and the event may
// be nil.
func ReadMessage(header map[string][]string, payload []byte) (e *Event, fact Fact, found Violations, unread bool) {
	e, err := ParseMessage(header, payload)
	if err != nil {
		var v *Violation
		if !errors.As(err, &v) {
			v = &Violation{Code: CodeMalformed, Found: err.Error()}
		}
		return e, nil, Violations{v}, true
	}
	fact, found = validate(e, nil)
	return e, fact, found, false
}

// validate is Validate with the violations that were already found in the attributes.
func validate(e *Event, found Violations) (Fact, Violations) {
	fact, clean := readFact(e)
	if !clean {
		var err error
		if fact, err = contract.decode(e, Type.New); err != nil {
			return nil, append(checkOutside(e, found), undecoded(e, err))
		}
	}
	return fact, check(e, fact, clean, found)
}

// check checks an event and its fact against the contract. check appends to the violations that
// were already found in the attributes. Data that is known to be clean, see [reader], needs no
// walk.
func check(e *Event, fact Fact, clean bool, found Violations) Violations {
	found = append(checkOutside(e, found), checkIDs(e, fact)...)
	if e.Time.IsZero() {
		found = append(found, &Violation{CodeRequired, "/time", "no time", "set the time at which the fact happened"})
	}
	if base := fact.Base(); base.Kind != fact.EventType() {
		found = append(found, &Violation{CodeIDMismatch, "/data/event_type", strconv.Quote(Clip(string(base.Kind))), "set event_type to " + string(fact.EventType())})
	}
	found = append(found, checkRequired(fact)...)
	if !clean {
		found = append(found, checkCounts(fact)...)
		found = append(found, checkMembers(e, fact)...)
	}
	return append(found, checkRules(fact)...)
}

// checkOutside checks rules that do not need the meaning of the data: its size, and status words
// in the names of attributes.
func checkOutside(e *Event, found Violations) Violations {
	if len(e.Data) > MaxEventBytes {
		found = append(found, &Violation{CodeTooLarge, "/data", strconv.Itoa(len(e.Data)) + " bytes",
			"keep data within " + strconv.Itoa(MaxEventBytes) + " bytes: refer to content instead of holding it, or split the candidates into parts"})
	}
	return append(found, checkStatusAttributes(e)...)
}

// undecoded returns the violation for a decoding error.
func undecoded(e *Event, err error) *Violation {
	if errors.Is(err, ErrUnknownType) {
		return &Violation{CodeUnknownType, "/type", Clip(e.Type), "use one of the types that `ctxledger schema list` names"}
	}
	var v *Violation
	errors.As(err, &v)
	return v
}

// checkIDs checks that the ids fit into subjects and table keys.
func checkIDs(e *Event, fact Fact) (found Violations) {
	for _, a := range [...]Attribute{{"tenant", e.Tenant}, {"runtimeid", e.RuntimeID}} {
		if len(a.Value) > MaxTokenBytes/3 && len(escapeToken(a.Value)) > MaxTokenBytes {
			found = append(found, &Violation{CodeTooLarge, "/" + a.Name, strconv.Itoa(len(a.Value)) + " bytes",
				"keep it within " + strconv.Itoa(MaxTokenBytes) + " bytes after escaping, because the subject contains it"})
		}
	}
	switch id := fact.RecordID(); {
	case len(id) > MaxIDBytes:
		found = append(found, &Violation{CodeTooLarge, "/data", "an id of " + strconv.Itoa(len(id)) + " bytes", "keep the record's id within " + strconv.Itoa(MaxIDBytes) + " bytes"})
	case !printable(id):
		found = append(found, &Violation{CodeAttribute, "/data", "an id with control characters", "give the record an id of printable Unicode"})
	}
	return found
}

// checkEnvelope returns the first violation of the rules for CloudEvents of all types.
// The error is a [*Violation].
func (e *Event) checkEnvelope() error {
	if found := e.checkAttributes(); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (e *Event) checkAttributes() (found Violations) {
	e.received.foreign = false
	refuse := func(code Code, name, what, fix string) {
		found = append(found, &Violation{code, "/" + name, what, fix})
	}
	for _, required := range [...]Attribute{{"id", e.ID}, {"source", e.Source}, {"type", e.Type}} {
		if required.Value == "" {
			refuse(CodeRequired, required.Name, "nothing", "every CloudEvent has an id, a source and a type")
		}
	}
	check := func(name, value string) {
		if len(value) > MaxIDBytes {
			refuse(CodeTooLarge, name, strconv.Itoa(len(value))+" bytes", "keep attributes within "+strconv.Itoa(MaxIDBytes)+" bytes")
		}
		if scan.PrintablePrefix(value) == len(value) {
			return
		}
		e.received.foreign = true
		if !printable(value) {
			refuse(CodeAttribute, name, "control characters or invalid UTF-8", "CloudEvents strings hold printable Unicode")
		}
	}
	for i := range attributes {
		if attributes[i].text == nil {
			continue
		}
		if value := *attributes[i].text(e); value != "" {
			check(attributes[i].name, value)
		}
	}
	check("datacontenttype", e.DataContentType)
	if len(e.Extensions) > 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
			if _, known := attributeIndex[name]; known || !validExtensionName(name) {
				refuse(CodeAttribute, pointerToken(Clip(name)), "an extension of that name", "use lower-case letters and digits, and the event's own field where it has one")
				continue
			}
			check(name, e.Extensions[name])
		}
	}
	for _, at := range [...]struct {
		name  string
		valid bool
	}{{"time", e.Time.IsZero() || validTime(e.Time)}, {"recordedtime", e.RecordedTime.IsZero() || validTime(e.RecordedTime)}} {
		if !at.valid {
			refuse(CodeAttribute, at.name, "a time out of range", "send a year from "+strconv.Itoa(minYear)+" to "+strconv.Itoa(maxYear))
		}
	}
	if e.Sequence != nil && *e.Sequence < 0 {
		refuse(CodeAttribute, "sequence", strconv.FormatInt(*e.Sequence, 10), "count from 0")
	}
	if e.Source != "" && !validSource(e.Source) {
		refuse(CodeAttribute, "source", strconv.Quote(Clip(e.Source)), "make the source a URI-reference, such as urn:ctxledger:runtime:<runtime>:<instance>")
	}
	return found
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	return scan.PrintablePrefix(s) == len(s) || utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// validSource reports whether s is a URI-reference.
func validSource(s string) bool { return plainURN(s) || types.ParseURIRef(s) != nil }

// plainURN recognises the most common forms of a source without a parser.
func plainURN(s string) bool {
	name, urn := strings.CutPrefix(s, "urn:")
	for i := range len(name) {
		if c := name[i]; !plainTokenByte(c) && c != ':' && c != '.' && c != ';' && c != '=' {
			return false
		}
	}
	return urn && name != ""
}

// Accepted returns the fact of an event that meets the contract.
func (e *Event) Accepted() (Fact, error) {
	fact, found := Validate(e)
	if len(found) == 1 && found[0].Code == CodeUnknownType {
		return nil, fmt.Errorf("%w %q", ErrUnknownType, e.Type)
	}
	if len(found) > 0 {
		return nil, found
	}
	return fact, nil
}

// Violation describes one fault of an event: a stable code, the place, the finding and the fix.
// The place is a JSON Pointer into data, or the name of an attribute. Found never holds content
// of an item.
type Violation struct {
	Code    Code   `json:"code"`
	Pointer string `json:"pointer,omitempty"`
	Found   string `json:"found,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// Code is a stable name of a kind of violation.
type Code string

// The codes of violations. Their meaning never changes.
const (
	CodeNotJSON         Code = "not_json"
	CodeNotCloudEvent   Code = "not_a_cloudevent"
	CodeMalformed       Code = "malformed"
	CodeMode            Code = "content_mode"
	CodeBatch           Code = "batch"
	CodeDuplicate       Code = "duplicate_attribute"
	CodeAttribute       Code = "attribute"
	CodeRequired        Code = "required"
	CodeType            Code = "type"
	CodeUnknownType     Code = "unknown_type"
	CodeTooLarge        Code = "too_large"
	CodeRange           Code = "range"
	CodeIDMismatch      Code = "id_mismatch"
	CodeNoReason        Code = "omission_without_reason"
	CodeNotConserved    Code = "candidates_not_conserved"
	CodeNoSourceWindow  Code = "no_source_window"
	CodeNoPolicy        Code = "redaction_without_policy"
	CodeWithheld        Code = "withheld_content"
	CodeInline          Code = "inline_content"         // content in a place that allows only a reference
	CodeReintroduced    Code = "redaction_reintroduced" // from the projector: a value that an earlier redaction withholds
	CodeRedactedWord    Code = "redaction_of_word"      // from the projector: a redaction of a word of the contract
	CodeIDConflict      Code = "id_conflict"
	CodeTenantMismatch  Code = "tenant_mismatch"  // from the projector: the subject belongs to another tenant
	CodeSubjectMismatch Code = "subject_mismatch" // from the projector: the subject belongs to another runtime, bucket or type
	CodeTooDeep         Code = "too_deep"
	CodeOwnSource       Code = "own_source" // a record that names itself as its source, parent or replacement
	CodeRuntimeStatus   Code = "runtime_status"
	CodePermission      Code = "permission"
	CodeAnswer          Code = "marked_as_answer"
)

// Error returns the violation as one line.
func (v *Violation) Error() string {
	var b strings.Builder
	b.WriteString(string(v.Code))
	if v.Pointer != "" {
		b.WriteString(" at " + v.Pointer)
	}
	if v.Found != "" {
		b.WriteString(": " + v.Found)
	}
	if v.Fix != "" {
		b.WriteString("; " + v.Fix)
	}
	return b.String()
}

// Violations lists all faults of one event. A non-empty list is an error.
type Violations []*Violation

func (vs Violations) Error() string {
	lines := make([]string, len(vs))
	for i, v := range vs {
		lines[i] = v.Error()
	}
	return strings.Join(lines, "\n")
}

// A requirement is one field of a fact type that the tag ctx:"required" marks.
type requirement struct {
	index   []int
	pointer string
}

// A shape holds the fields of a struct type that the checks need. A shape is computed once.
type shape struct {
	required []requirement
	counts   []count
}

// A count is a field that counts from zero, or a struct with counts.
type count struct {
	index  int
	name   string // "" for an embedded struct
	kind   reflect.Kind
	inside *shape // nil if the field itself is the number
}

// shapes maps every struct type of the contract to its shape.
var shapes = func() map[reflect.Type]*shape {
	all := make(map[reflect.Type]*shape)
	for _, t := range Types() {
		addShape(all, reflect.TypeOf(t.New()).Elem())
	}
	return all
}()

func shapeOf(t reflect.Type) *shape { return shapes[t] }

func addShape(all map[reflect.Type]*shape, t reflect.Type) *shape {
	if have := all[t]; have != nil {
		return have
	}
	s := &shape{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("ctx") == "required" {
			s.required = append(s.required, requirement{f.Index, "/data/" + jsonName(f)})
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		c := count{index: i, kind: f.Type.Kind()}
		if !f.Anonymous {
			c.name = jsonName(f)
		}
		inner := f.Type
		if c.kind == reflect.Pointer || c.kind == reflect.Slice {
			inner = inner.Elem()
		}
		switch inner.Kind() {
		case reflect.Int64:
			s.counts = append(s.counts, c)
		case reflect.Struct:
			if c.inside = addShape(all, inner); len(c.inside.counts) > 0 {
				s.counts = append(s.counts, c)
			}
		}
	}
	all[t] = s
	return s
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkRequired reports required fields that are missing. Struct tags mark the required fields.
func checkRequired(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	for _, r := range shapeOf(v.Type()).required {
		if field := v.FieldByIndex(r.index); field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			found = append(found, &Violation{CodeRequired, r.pointer, "nothing", "a " + string(fact.EventType()) + " needs this field"})
		}
	}
	return found
}

// checkCounts reports negative counts. Tokens, bytes, items and positions all count from zero.
func checkCounts(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	for _, n := range shapeOf(v.Type()).negatives(v) {
		found = append(found, &Violation{CodeRange, "/data/" + strings.Join(n.path, "/"), strconv.FormatInt(n.value, 10), "counts and positions start at 0; leave out unknown values"})
	}
	return found
}

// A negative is a count below zero and its path.
type negative struct {
	path  []string
	value int64
}

// negatives finds every negative count below v. Paths are built on the return from the recursion.
// A valid fact therefore needs no path.
func (s *shape) negatives(v reflect.Value) (found []negative) {
	for i := range s.counts {
		c := &s.counts[i]
		field := v.Field(c.index)
		var below []negative
		switch c.kind {
		case reflect.Pointer:
			if !field.IsNil() {
				below = c.in(field.Elem())
			}
		case reflect.Slice:
			for at := range field.Len() {
				below = append(below, within(strconv.Itoa(at), c.in(field.Index(at)))...)
			}
		default:
			below = c.in(field)
		}
		if c.name != "" {
			below = within(c.name, below)
		}
		found = append(found, below...)
	}
	return found
}

// in finds the negative counts of one value of the field.
func (c *count) in(v reflect.Value) []negative {
	if c.inside != nil {
		return c.inside.negatives(v)
	}
	if n := v.Int(); n < 0 {
		return []negative{{value: n}}
	}
	return nil
}

// within adds name to the front of each path.
func within(name string, list []negative) []negative {
	for i := range list {
		list[i].path = append([]string{name}, list[i].path...)
	}
	return list
}
