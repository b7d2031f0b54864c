package schema

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/go-json-experiment/json/jsontext"
)

// ParseStructured reads one event in the CloudEvents JSON format. ParseStructured refuses
// duplicate keys and invalid UTF-8 anywhere in the document. The data keeps its bytes and aliases
// the document. A member that is null or an empty string counts as absent.
func ParseStructured(document []byte) (*Event, error) {
	d := documentReader{document: document, dec: jsontext.NewDecoder(bytes.NewBuffer(document))}
	if d.dec.PeekKind() != '{' {
		return nil, d.refuse()
	}
	if err := d.members(); err != nil {
		return nil, notJSON(err)
	}
	if d.fault == nil {
		d.takeData()
	}
	if d.fault != nil {
		return nil, d.fault
	}
	return &d.event, d.event.checkEnvelope()
}

// documentReader reads one document of the JSON format.
type documentReader struct {
	document     []byte
	dec          *jsontext.Decoder
	event        Event
	hasVersion   bool
	data, data64 jsontext.Value
	fault        *Violation // the first fault other than a JSON syntax error
}

// refuse returns the reason why the document is no JSON object.
func (d *documentReader) refuse() *Violation {
	if _, err := d.dec.ReadValue(); err != nil {
		if err == io.EOF {
			err = errors.New("nothing")
		}
		return notJSON(err)
	}
	return &Violation{CodeNotCloudEvent, "", "JSON that is not an object", "send one CloudEvent as a JSON object"}
}

// members reads to the end of the document and returns the first JSON error.
func (d *documentReader) members() error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() == '"' {
		quoted, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		name := attributeName(Unquoted(quoted))
		value, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(d.dec.InputOffset())
		value = d.document[end-len(value) : end : end]
		switch name {
		case "data":
			d.data = value
		case "data_base64":
			d.data64 = value
		default:
			d.take(name, value)
		}
	}
	if _, err := d.dec.ReadToken(); err != nil { // the closing brace
		return err
	}
	if _, err := d.dec.ReadToken(); err != io.EOF {
		return errors.Join(errors.New("more than one JSON value"), err)
	}
	return nil
}

// attributeName returns name as a string. A known name costs no copy.
func attributeName(name []byte) string {
	if index, known := attributeIndex[string(name)]; known {
		return attributes[index].name
	}
	return string(name)
}

func (d *documentReader) take(name string, value jsontext.Value) {
	d.hasVersion = d.hasVersion || name == "specversion"
	text, err := attributeText(value)
	if err == nil && !(value.Kind() == 'n' && name != "specversion") {
		err = d.event.Set(name, text)
	}
	if former := d.event.received.former; former != nil && former.Fix == "" {
		former.Fix = "correct the attribute"
	}
	if err != nil && d.fault == nil {
		d.fault = &Violation{CodeAttribute, "/" + pointerToken(Clip(name)), err.Error(), "correct the attribute"}
	}
}

// attributeText returns the canonical string of an attribute's JSON value.
func attributeText(value jsontext.Value) (string, error) {
	switch value.Kind() {
	case '"':
		return string(Unquoted(value)), nil
	case 't', 'f':
		return string(value), nil
	case 'n':
		return "", nil
	case '0':
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return strconv.FormatInt(n, 10), nil
		}
		return "", errors.New("a number that is not an integer of 64 bits")
	}
	return "", fmt.Errorf("%s, where CloudEvents allows strings, booleans and integers", KindName(value.Kind()))
}

// takeData sets the data of the event from data or data_base64.
func (d *documentReader) takeData() {
	e := &d.event
	fail := func(pointer, found, fix string) {
		d.fault = &Violation{CodeNotCloudEvent, pointer, found, fix}
	}
	switch {
	case !d.hasVersion:
		fail("/specversion", "JSON without specversion", "send a CloudEvents 1.0 JSON object with specversion, id, source and type")
	case d.data != nil && d.data64 != nil:
		fail("/data_base64", "data and data_base64", "send one of them")
	case d.data64 != nil:
		text, err := attributeText(d.data64)
		if err == nil {
			e.Data, err = base64.StdEncoding.DecodeString(text)
			if strings.ContainsAny(text, "\r\n") {
				e.received.refused = append(e.received.refused, &Violation{CodeNotCloudEvent, "/data_base64", "base64 with line breaks", "send it without line breaks (RFC 4648)"})
			}
		}
		if err != nil || d.data64.Kind() != '"' {
			fail("/data_base64", "text that is not base64", "send the bytes in base64")
		}
	case d.data == nil:
	case isJSON(e.DataContentType):
		e.Data = d.data
	case d.data.Kind() == '"':
		text, _ := attributeText(d.data)
		e.Data = []byte(text)
	default:
		fail("/data", KindName(d.data.Kind())+" of type "+Clip(e.DataContentType), "send data that is not JSON as a string, or in data_base64")
	}
	e.DataContentType = contentTypeOf(e)
}

func notJSON(err error) *Violation {
	v := &Violation{Code: CodeNotJSON, Found: err.Error(), Fix: "send one JSON object per line, in UTF-8, without duplicate keys"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		v.Pointer, v.Found = Clip(string(syntactic.JSONPointer)), Clip(syntactic.Err.Error())
	}
	return v
}

// MarshalJSON writes the event in the CloudEvents JSON format, with attributes sorted by name.
// JSON data is written verbatim. Other data is written in base64. The error is the envelope's
// first [*Violation].
func (e *Event) MarshalJSON() ([]byte, error) {
	if err := e.checkEnvelope(); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", Clip(e.ID), err)
	}
	list := e.Attributes()
	b := make([]byte, 0, 48*len(list)+len(e.Data))
	for i, a := range list {
		b = append(b, "{,"[min(i, 1)])
		b, _ = jsontext.AppendQuote(b, a.Name)
		b = append(b, ':')
		b, _ = jsontext.AppendQuote(b, a.Value) // checkEnvelope has checked for valid UTF-8
	}
	switch {
	case len(e.Data) == 0:
	case isJSON(e.DataContentType):
		if !jsontext.Value(e.Data).IsValid() {
			return nil, fmt.Errorf("encode event %s: %w", Clip(e.ID), &Violation{CodeMalformed, "/data", "bytes that are not JSON", "send JSON, or set datacontenttype to the type of the data"})
		}
		b = append(append(b, `,"data":`...), TrimSpace(e.Data)...)
	default:
		b = append(b, `,"data_base64":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, e.Data), '"')
	}
	return append(b, '}'), nil
}

// TrimSpace removes the white space that JSON allows around a value.
func TrimSpace(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// FromCloudEvent converts an event of the official SDK. Extension values become their canonical
// strings. The error is a [*Violation].
func FromCloudEvent(ce cloudevents.Event) (*Event, error) {
	e := &Event{
		ID: ce.ID(), Source: ce.Source(), Type: ce.Type(), Subject: ce.Subject(),
		DataContentType: ce.DataContentType(), DataSchema: ce.DataSchema(), Data: ce.Data(),
	}
	if ce.SpecVersion() != cloudevents.CloudEventsVersionV1 {
		return nil, &Violation{Code: CodeAttribute, Pointer: "/specversion", Found: ce.SpecVersion(), Fix: "send CloudEvents 1.0"}
	}
	e.DataContentType = contentTypeOf(e)
	if err := e.Set("time", FormatTime(ce.Time())); err != nil {
		return nil, &Violation{Code: CodeAttribute, Pointer: "/time", Found: err.Error(), Fix: "correct the time"}
	}
	extensions := ce.Extensions()
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		text, err := types.Format(extensions[name])
		if err == nil {
			err = e.Set(strings.ToLower(name), text)
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
	for _, a := range e.Attributes() {
		switch a.Name {
		case "specversion":
		case "id":
			ce.SetID(a.Value)
		case "source":
			ce.SetSource(a.Value)
		case "type":
			ce.SetType(a.Value)
		case "subject":
			ce.SetSubject(a.Value)
		case "dataschema":
			ce.SetDataSchema(a.Value)
		case "datacontenttype":
			ce.SetDataContentType(a.Value)
		case "time":
			ce.SetTime(e.Time)
		default:
			ce.SetExtension(a.Name, a.Value)
		}
	}
	if len(e.Data) > 0 {
		ce.DataEncoded = e.Data
		ce.DataBase64 = mediaType(contentTypeOf(e)) != jsonType // the SDK treats +json as text
	}
	return ce, ce.Validate()
}
