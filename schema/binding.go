package schema

import (
	"errors"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/go-json-experiment/json/jsontext"
)

// Message is a NATS message without a NATS client: what the CloudEvents NATS
// protocol binding maps an event to. Header converts to nats.Header.
type Message struct {
	Subject string
	Header  map[string][]string
	Data    []byte
}

// MsgIDHeader is the header that JetStream deduplicates by.
const MsgIDHeader = "Nats-Msg-Id"

const (
	contentTypeHeader = "Content-Type"
	attributePrefix   = "ce-"
	structuredJSON    = "application/cloudevents+json"
)

// Binary maps the event in binary content mode: attributes in percent-encoded
// ce- headers, the data bytes as the payload.
func (e *Event) Binary() Message {
	header := make(map[string][]string, 24)
	for _, a := range e.Attributes() {
		if a.Name == "datacontenttype" {
			header[contentTypeHeader] = []string{a.Value}
			continue
		}
		header[attributePrefix+a.Name] = []string{percentEncode(a.Value)}
	}
	header[MsgIDHeader] = []string{e.MessageID()}
	return Message{Subject: SubjectOf(e).String(), Header: header, Data: e.Data}
}

// Structured maps the event in structured content mode: one JSON document in
// the CloudEvents JSON format.
func (e *Event) Structured() (Message, error) {
	data, err := e.MarshalJSON()
	if err != nil {
		return Message{}, err
	}
	return Message{
		Subject: SubjectOf(e).String(),
		Header:  map[string][]string{contentTypeHeader: {structuredJSON}, MsgIDHeader: {e.MessageID()}},
		Data:    data,
	}, nil
}

// ParseMessage reads an event in either content mode. Header names are
// compared without case. A message without Content-Type is read as structured
// when it has no ce-specversion header, as the official SDKs write it. The
// error is a [*Violation]; the message itself is never changed.
func ParseMessage(header map[string][]string, payload []byte) (*Event, error) {
	h, err := foldHeader(header)
	if err != nil {
		return nil, err
	}
	contentType := h["content-type"]
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case strings.HasPrefix(media, "application/cloudevents-batch"):
		return nil, &Violation{Code: CodeBatch, Found: contentType, Fix: "publish one event a message; batches are a transport matter"}
	case media == structuredJSON, contentType == "" && h[attributePrefix+"specversion"] == "":
		return ParseStructured(payload)
	case strings.HasPrefix(media, "application/cloudevents"):
		return nil, &Violation{Code: CodeMode, Found: contentType, Fix: "use " + structuredJSON + " or binary mode"}
	}
	return parseBinary(h, payload)
}

// foldHeader lowers header names and takes the one value of each. Headers
// that are neither ce- nor Content-Type are left out.
func foldHeader(header map[string][]string) (map[string]string, error) {
	folded := make(map[string]string, len(header))
	for name, values := range header {
		lower := strings.ToLower(name)
		if lower != "content-type" && !strings.HasPrefix(lower, attributePrefix) {
			continue
		}
		if _, twice := folded[lower]; twice || len(values) > 1 {
			return nil, &Violation{Code: CodeDuplicate, Pointer: "/" + lower, Found: "the header more than once", Fix: "send each attribute once"}
		}
		if len(values) == 1 {
			folded[lower] = values[0]
		}
	}
	return folded, nil
}

func parseBinary(h map[string]string, payload []byte) (*Event, error) {
	e := &Event{Data: payload, DataContentType: h["content-type"]}
	if e.DataContentType == "" {
		e.DataContentType = h[attributePrefix+"datacontenttype"]
	}
	if _, ok := h[attributePrefix+"specversion"]; !ok {
		return nil, &Violation{Code: CodeRequired, Pointer: "/specversion", Found: "no ce-specversion header", Fix: "send a CloudEvent in binary or structured mode"}
	}
	for name, value := range h {
		name, isAttribute := strings.CutPrefix(name, attributePrefix)
		if !isAttribute || name == "datacontenttype" {
			continue
		}
		decoded := percentDecode(value)
		if !utf8.ValidString(decoded) {
			return nil, &Violation{Code: CodeMalformed, Pointer: "/" + name, Found: "invalid UTF-8", Fix: "percent-encode the UTF-8 bytes"}
		}
		if err := e.set(name, decoded); err != nil {
			return nil, &Violation{Code: CodeAttribute, Pointer: "/" + name, Found: err.Error(), Fix: "correct the ce-" + name + " header"}
		}
	}
	return e, e.checkEnvelope()
}

// ParseStructured reads one event in the CloudEvents JSON format. It refuses
// duplicate keys and invalid UTF-8 anywhere in the document. The data keeps
// its bytes as they stand in the document.
func ParseStructured(document []byte) (*Event, error) {
	if err := checkJSON(document); err != nil {
		return nil, err
	}
	if jsontext.Value(document).Kind() != '{' {
		return nil, &Violation{Code: CodeNotCloudEvent, Found: "JSON that is not an object", Fix: "send one CloudEvent as a JSON object"}
	}
	var ce cloudevents.Event
	if err := ce.UnmarshalJSON(document); err != nil {
		return nil, &Violation{Code: CodeNotCloudEvent, Found: err.Error(), Fix: "send a CloudEvents 1.0 JSON object with specversion, id, source and type"}
	}
	return FromCloudEvent(ce)
}

func checkJSON(document []byte) error {
	dec := jsontext.NewDecoder(strings.NewReader(string(document)))
	_, err := dec.ReadValue()
	if err == nil {
		if _, extra := dec.ReadToken(); extra == nil {
			err = errors.New("more than one JSON value")
		}
	}
	if err == nil {
		return nil
	}
	v := &Violation{Code: CodeNotJSON, Found: err.Error(), Fix: "send one JSON object a line, in UTF-8, without duplicate keys"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		v.Pointer, v.Found = string(syntactic.JSONPointer), syntactic.Err.Error()
	}
	return v
}

// FromCloudEvent takes over an event of the official SDK. Extension values
// become their canonical strings. The error is a [*Violation].
func FromCloudEvent(ce cloudevents.Event) (*Event, error) {
	e := &Event{
		ID: ce.ID(), Source: ce.Source(), Type: ce.Type(), Subject: ce.Subject(),
		DataContentType: ce.DataContentType(), DataSchema: ce.DataSchema(), Data: ce.Data(),
	}
	if ce.SpecVersion() != cloudevents.CloudEventsVersionV1 {
		return nil, &Violation{Code: CodeAttribute, Pointer: "/specversion", Found: ce.SpecVersion(), Fix: "send CloudEvents 1.0"}
	}
	if e.DataContentType == "" && len(e.Data) > 0 {
		e.DataContentType = "application/json"
	}
	if !ce.Time().IsZero() {
		if err := e.set("time", formatTime(ce.Time())); err != nil {
			return nil, &Violation{Code: CodeAttribute, Pointer: "/time", Found: err.Error(), Fix: "correct the time"}
		}
	}
	for name, value := range ce.Extensions() {
		text, err := types.Format(value)
		if err == nil && text != "" {
			err = e.set(strings.ToLower(name), text)
		}
		if err != nil {
			return nil, &Violation{Code: CodeAttribute, Pointer: "/" + name, Found: err.Error(), Fix: "correct the attribute"}
		}
	}
	return e, e.checkEnvelope()
}

// CloudEvent returns the event as the official SDK's type.
func (e *Event) CloudEvent() (cloudevents.Event, error) {
	ce := cloudevents.New(cloudevents.CloudEventsVersionV1)
	ce.SetID(e.ID)
	ce.SetSource(e.Source)
	ce.SetType(e.Type)
	if e.Subject != "" {
		ce.SetSubject(e.Subject)
	}
	if e.DataSchema != "" {
		ce.SetDataSchema(e.DataSchema)
	}
	if !e.Time.IsZero() {
		ce.SetTime(e.Time)
	}
	core := []string{"id", "source", "type", "subject", "dataschema", "time", "specversion", "datacontenttype"}
	for _, a := range e.Attributes() {
		if !slices.Contains(core, a.Name) {
			ce.SetExtension(a.Name, a.Value)
		}
	}
	if e.DataContentType != "" {
		ce.SetDataContentType(e.DataContentType)
		ce.DataEncoded = e.Data
		media, _, _ := mime.ParseMediaType(e.DataContentType)
		ce.DataBase64 = media != "application/json" && !strings.HasSuffix(media, "+json")
	}
	return ce, ce.Validate()
}

// MarshalJSON writes the event in the CloudEvents JSON format, with the data
// bytes verbatim.
func (e *Event) MarshalJSON() ([]byte, error) {
	ce, err := e.CloudEvent()
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return ce.MarshalJSON()
}

// percentEncode escapes as the binding's header rules say: space, double
// quote, percent and everything outside printable ASCII.
func percentEncode(s string) string {
	const upper = "0123456789ABCDEF"
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' }
	for i := range len(s) {
		if plain(s[i]) {
			continue
		}
		var b strings.Builder
		b.WriteString(s[:i])
		for ; i < len(s); i++ {
			if c := s[i]; plain(c) {
				b.WriteByte(c)
			} else {
				b.Write([]byte{'%', upper[c>>4], upper[c&15]})
			}
		}
		return b.String()
	}
	return s
}

// percentDecode undoes percentEncode; a value that is not percent-encoded
// (the official Go SDK does not encode) is taken as it stands.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	decoded, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return decoded
}
