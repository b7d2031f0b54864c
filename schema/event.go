package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema/internal/form"
)

// Event is a CloudEvent 1.0 as ctxledger uses it. The zero value is not
// valid; make events with [NewEvent] or [ParseMessage].
type Event struct {
	ID     string // unique per tenant and Source
	Source string // URI-reference of the producer
	Type   string // CloudEvents type attribute
	// Subject is the id of the record that the fact is about.
	Subject         string
	Time            time.Time // when the fact happened, UTC
	DataContentType string
	DataSchema      string
	Correlation
	// Sequence is contiguous per (Source, SessionID). Sequence is nil for a producer without
	// sequences. Scopes of producers without sequences are never reported as complete.
	Sequence      *int64
	PartitionKey  string
	CorrelationID string
	CausationID   string
	RecordedTime  time.Time // when a relay accepted the event, UTC; usually zero
	TraceParent   string
	TraceState    string
	// DataClassification is the data's privacy class, set by the producer.
	DataClassification string
	// Extensions holds the attributes that this version does not know.
	Extensions map[string]string
	// Data is the payload verbatim: JSON text for every known type.
	Data []byte

	received received
}

// ErrUnknownType is wrapped by [Event.Decode] for a type that this version of the contract does
// not define. An event of an unknown type is kept unchanged.
var ErrUnknownType = errors.New("unknown event type")

// NewEvent encodes fact into an event with the given identity and ids. NewEvent writes
// schema_version and event_type into the fact. A fact with Common.SchemaVersion keeps its
// version. The same arguments give the same bytes. The error is [Violations] if fact is nil.
// Otherwise it names the value that JSON cannot represent.
func NewEvent(fact Fact, id, source string, at time.Time, ids Correlation) (*Event, error) {
	e := &Event{ID: id, Source: source, Time: at.UTC(), Correlation: ids, PartitionKey: ids.SessionID}
	if _, err := e.encode(fact); err != nil {
		return nil, err
	}
	return e, nil
}

// OffsetID returns the event id for the record at an offset of a stream. Programs that publish
// the records of a journal use it. A second run gives the same ids, and no event counts twice.
// Two records of one source have the same id only if stream and offset are equal.
func OffsetID(stream string, offset uint64) string {
	return stream + ":" + strconv.FormatUint(offset, 10)
}

// Encode sets the event's type, subject and data from fact, by the rules of [NewEvent]. Encode
// returns the violations that [Validate] finds in the event. Encode needs no decoding of the fact
// and therefore costs less than Validate. The result describes the current event. A caller that
// changes the event validates it again. Errors are the errors of NewEvent.
func (e *Event) Encode(fact Fact) (Violations, error) {
	clean, err := e.encode(fact)
	switch {
	case err != nil:
		return nil, err
	case clean:
		return CheckKnown(fact, CheckDoor(e, fact, check(e, fact, clean, e.checkAttributes()))), nil
	}
	_, found := Validate(e)
	return found, nil
}

// encode is Encode without the check. encode reports whether the data is known to decode to fact
// and to be clean, see [reader].
func (e *Event) encode(fact Fact) (clean bool, err error) {
	if v := reflect.ValueOf(fact); v.Kind() != reflect.Pointer || v.IsNil() {
		return false, Violations{{CodeRequired, "/data", "no fact", "pass a pointer to one of the facts"}}
	}
	base := fact.Base()
	base.Kind = fact.EventType()
	if base.SchemaVersion == "" {
		base.SchemaVersion = Version
	}
	e.Subject, e.DataContentType = fact.RecordID(), jsonType
	if p := plans[base.Kind]; p != nil {
		e.Type, e.DataSchema = p.eventType, p.schema
	} else {
		e.Type, e.DataSchema = base.Kind.CloudEventsType(), base.Kind.DataSchema()
	}
	if e.Data, clean = EncodeData(e, fact); clean {
		return true, nil
	}
	if e.Data, err = json.Marshal(fact, json.Deterministic(true)); err != nil {
		return false, fmt.Errorf("encode %s: %w", base.Kind, err)
	}
	return false, nil
}

// EventType returns the standard's name of the event's type. EventType returns "" for a type
// attribute outside the contract.
func (e *Event) EventType() Type {
	t, err := ParseCloudEventsType(e.Type)
	if err != nil {
		return ""
	}
	return t
}

// Decode reads the data as the fact that the type attribute names. Duplicate keys, invalid UTF-8
// and values of the wrong type are errors of type [*Violation]. Decode ignores members that this
// version does not know. The error wraps [ErrUnknownType] if the type is unknown.
func (e *Event) Decode() (Fact, error) {
	if fact, ok := readFact(e); ok {
		return fact, nil
	}
	return contract.decode(e, Type.New)
}

// decode converts the data to the current version of its type. decode reads the data into the
// fact that empty returns for the type.
func (v versions) decode(e *Event, empty func(Type) Fact) (Fact, error) {
	kind, version, _ := v.parse(e.Type)
	fact := empty(kind)
	if fact == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownType, e.Type)
	}
	data, err := v.upcast(kind, version, e.Data)
	if err != nil {
		return nil, DecodeViolation(err)
	}
	if err = json.Unmarshal(data, fact); err == nil {
		return fact, nil
	}
	strict := DecodeViolation(err)
	fact = empty(kind)
	if !bytes.ContainsAny(data, "tz") || json.Unmarshal(data, fact, anyCase) != nil {
		return nil, strict
	}
	e.received.formerData = strict
	return fact, nil
}

// anyCase reads times whose letters t and z are lower-case. RFC 3339 allows both cases.
var anyCase = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, t *time.Time) error {
	text, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if text.Kind() != '"' {
		return fmt.Errorf("%s: want an RFC 3339 time", KindName(text.Kind()))
	}
	upper := strings.ToUpper(text.String())
	if !form.RFC3339(upper) {
		return fmt.Errorf("want an RFC 3339 time")
	}
	return t.UnmarshalText([]byte(upper))
}))

// DecodeViolation returns the place of the fault and the kind of the wrong value, without the
// value itself.
func DecodeViolation(err error) *Violation {
	v := &Violation{Code: CodeMalformed, Pointer: "/data", Fix: "send the data as the event type's schema describes it"}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	var reference *referenceError
	switch {
	case errors.As(err, &semantic):
		v.Code, v.Pointer = CodeType, "/data"+Clip(string(semantic.JSONPointer))
		v.Found = KindName(semantic.JSONKind)
		if errors.As(err, &reference) {
			v.Fix = reference.fix
		} else if semantic.GoType != nil {
			v.Fix = "send " + wanted(semantic.GoType)
		}
	case errors.As(err, &syntactic):
		v.Pointer = "/data" + Clip(string(syntactic.JSONPointer))
		v.Found = Clip(syntactic.Err.Error())
	default:
		v.Found = "data that is not JSON"
	}
	return v
}

// KindName names a kind of JSON value for a message.
func KindName(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "no JSON value"
}

// wanted names the JSON form of a Go type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number of 64 bits"
	case reflect.Float64:
		return "a number of 64 bits"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "an RFC 3339 time"
	}
	return "an object"
}

// Digest identifies the event's content. Digest is SHA-256 over [Event.AppendAttributes] and the
// SHA-256 of the data bytes. For JSON, white space around the value does not count. The digest is
// the same in structured and in binary mode.
func (e *Event) Digest() [32]byte {
	return e.DigestWith(e.AppendAttributes(make([]byte, 0, 1024)))
}

// DigestWith is Digest for callers that have already computed [Event.AppendAttributes].
// DigestWith may write into the spare capacity of attributes.
func (e *Event) DigestWith(attributes []byte) [32]byte {
	data := e.Data
	if isJSON(e.DataContentType) {
		data = TrimSpace(data)
	}
	content := sha256.Sum256(data)
	return sha256.Sum256(append(attributes, content[:]...))
}

// AppendAttributes appends every attribute of e, sorted by name, and returns the extended b. The
// length of each name and value precedes it as a uvarint. Different sets of attributes give
// different bytes. Digests and the leaves of the transparency log use these bytes.
func (e *Event) AppendAttributes(b []byte) []byte {
	if len(e.Extensions) == 0 {
		e.known(func(a *attribute, value string) { b = appendField(appendField(b, a.name), value) })
		return b
	}
	for _, a := range e.Attributes() {
		b = appendField(appendField(b, a.Name), a.Value)
	}
	return b
}

func appendField(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Identity returns the first 8 bytes of a hash over (source, id). The short hash only finds
// candidates: a caller also compares tenant, source and id.
func (e *Event) Identity() uint64 {
	return IdentityOf(e.IdentitySum())
}

// IdentitySum returns the whole hash over (source, id). Two events of one tenant with the same
// sum are the same fact.
func (e *Event) IdentitySum() [32]byte { return identitySum(e.Source, e.ID) }

// IdentityOf returns the [Event.Identity] of an [Event.IdentitySum].
func IdentityOf(sum [32]byte) uint64 { return binary.BigEndian.Uint64(sum[:8]) }

// MessageID returns the Nats-Msg-Id of the event: a hash of source and id. The tenants of a
// stream share message ids. Another tenant may therefore already use the same id.
func (e *Event) MessageID() string {
	sum := identitySum(e.Source, e.ID)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

func identitySum(source, id string) [32]byte {
	return sha256.Sum256(appendField(appendField(make([]byte, 0, 256), source), id))
}

// Version is the schema_version that this package writes into every data object. Readers accept
// any version.
const Version = "0.1.0"

// A Fact is the data of one event: a change of a context window. The concrete types are pointers
// to the structs of the fact_*.go files.
type Fact interface {
	// EventType returns the standard's name of the event.
	EventType() Type
	// Base returns the part that all facts share.
	Base() *Common
	// RecordID returns the id of the record that the fact is about. The id becomes the
	// CloudEvents subject.
	RecordID() string
}

// Common is the part that all data objects share.
type Common struct {
	SchemaVersion string         `json:"schema_version"`           // version of the Agent Context standard
	Kind          Type           `json:"event_type"`               // the standard's name of the event
	PolicyRefs    []Ref          `json:"policy_refs,omitempty"`    // policies that applied
	EvidenceRefs  []Ref          `json:"evidence_refs,omitempty"`  // evidence that cites the record
	TelemetryRefs []Ref          `json:"telemetry_refs,omitempty"` // spans and traces
	Metadata      map[string]any `json:"metadata,omitempty"`       // the producer's own values, outside the contract
}

// Base returns c. A struct that embeds Common therefore implements [Fact].
func (c *Common) Base() *Common { return c }
