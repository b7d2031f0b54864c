package schema

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Message is a NATS message without a NATS client. The CloudEvents NATS protocol binding (1.0.3)
// maps an event to a Message. Header converts to nats.Header.
type Message struct {
	Subject string
	Header  map[string][]string
	Data    []byte
}

// MsgIDHeader is the header by which JetStream detects duplicates.
const MsgIDHeader = "Nats-Msg-Id"

const (
	contentTypeHeader = "Content-Type"
	attributePrefix   = "ce-"
	natsPrefix        = "Nats-" // prefix of the server's own headers
	jsonType          = "application/json"
	cloudEventsType   = "application/cloudevents"
	structuredJSON    = cloudEventsType + "+json"
	usualHeaders      = 20 // number of headers of an event in binary mode
)

// Binary maps the event in binary content mode. Attributes, including datacontenttype, become
// percent-encoded ce- headers. The data bytes become the payload.
func (e *Event) Binary() Message {
	values := make([]string, 0, len(attributes)+len(e.Extensions)+1) // one allocation for all headers
	header := make(map[string][]string, usualHeaders)
	set := func(name, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	e.known(func(a *attribute, value string) { set(a.header, percentEncode(value)) })
	for name, value := range e.Extensions {
		if value != "" {
			set(attributePrefix+name, percentEncode(value))
		}
	}
	set(MsgIDHeader, e.MessageID())
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

// ParseMessage reads an event in either content mode. ParseMessage compares header names without
// case.
//
// ParseMessage also reads two forms that the official Go SDK's JetStream bindings write. The first is a
// structured message without Content-Type and without ce-specversion. The second has binary
// headers without percent-encoding. In binary mode, Content-Type replaces a missing
// ce-datacontenttype.
//
// The error is a [*Violation]. The message is never changed. The event's data aliases the
// payload.
func ParseMessage(header map[string][]string, payload []byte) (*Event, error) {
	read := headerReader{event: Event{Data: payload}}
	for name, values := range header {
		read.add(name, values)
	}
	media := mediaType(read.contentType)
	switch {
	case read.fault != nil && read.fault.Pointer == "/content-type":
		return nil, read.fault
	case strings.HasPrefix(media, cloudEventsType+"-batch"):
		return nil, &Violation{Code: CodeBatch, Found: Clip(read.contentType), Fix: "publish one event per message, not a batch"}
	case media == structuredJSON, media == cloudEventsType, media == "" && !read.hasVersion:
		return ParseStructured(payload)
	case strings.HasPrefix(media, cloudEventsType):
		return nil, &Violation{Code: CodeMode, Found: Clip(read.contentType), Fix: "use " + structuredJSON + " or binary mode"}
	case !read.hasVersion:
		return nil, &Violation{Code: CodeRequired, Pointer: "/specversion", Found: "no ce-specversion header", Fix: "send a CloudEvent in binary or structured mode"}
	case read.fault != nil:
		return nil, read.fault
	}
	e := &read.event
	if e.DataContentType == "" {
		e.DataContentType = read.contentType
	}
	return e, e.checkEnvelope()
}

// headerReader collects the headers of one message. Go iterates over a map in random order. Of
// several faults, headerReader keeps the one whose pointer sorts first.
type headerReader struct {
	event       Event
	contentType string
	hasVersion  bool
	seen        uint64 // one bit per known attribute
	fault       *Violation
}

func (r *headerReader) refuse(code Code, pointer, found, fix string) {
	if r.fault == nil || pointer < r.fault.Pointer {
		r.fault = &Violation{code, pointer, found, fix}
	}
}

// add reads one header. add ignores headers other than ce- headers and Content-Type.
func (r *headerReader) add(header string, values []string) {
	if len(values) == 0 || strings.HasPrefix(header, natsPrefix) || r.addPlain(header, values) {
		return
	}
	name := strings.ToLower(header)
	if name == "content-type" {
		if r.contentType != "" || len(values) > 1 {
			r.refuse(CodeDuplicate, "/content-type", "the header more than once", "send it once")
		}
		r.contentType = values[0]
		return
	}
	name, isAttribute := strings.CutPrefix(name, attributePrefix)
	if !isAttribute {
		return
	}
	twice := len(values) > 1
	if index, known := attributeIndex[name]; known {
		twice = twice || r.seen&(1<<index) != 0
		r.seen |= 1 << index
	} else if _, have := r.event.Extensions[name]; have {
		twice = true
	}
	if len(name)+len(attributePrefix) != len(header) { // lower case changed the number of bytes
		r.refuse(CodeAttribute, "/"+name, "a header name that is not ASCII", "use lower-case letters and digits")
		return
	}
	if twice {
		r.refuse(CodeDuplicate, "/"+name, "the header more than once", "send each attribute once")
		return
	}
	value := percentDecode(unquote(values[0]))
	if !utf8.ValidString(value) {
		r.refuse(CodeMalformed, "/"+name, "invalid UTF-8", "percent-encode the UTF-8 bytes")
		return
	}
	fix := func() string { return "correct the ce-" + Clip(name) + " header" }
	if err := r.event.Set(name, value); err != nil {
		r.refuse(CodeAttribute, "/"+name, err.Error(), fix())
	}
	if former := r.event.received.former; former != nil && former.Fix == "" {
		former.Fix = fix()
	}
	r.hasVersion = r.hasVersion || name == "specversion"
}

// addPlain reads the header of a known attribute whose value has no escapes, which is the usual
// case. addPlain reports whether it read the header.
func (r *headerReader) addPlain(header string, values []string) bool {
	index, known := headerIndex[header]
	if !known || len(values) > 1 || r.seen&(1<<index) != 0 {
		return false
	}
	a, value := &attributes[index], values[0]
	if a.text == nil || value == "" || value[0] == '"' || strings.IndexByte(value, '%') >= 0 || !printable(value) {
		return false
	}
	r.seen |= 1 << index
	*a.text(&r.event) = value
	return true
}

// headerIndex maps the header that ctxledger writes to the index of a known attribute.
var headerIndex = func() map[string]int {
	index := make(map[string]int, len(attributes))
	for i, a := range attributes {
		index[a.header] = i
	}
	return index
}()

// mediaType returns the type of a Content-Type in lower case, without its
// parameters.
func mediaType(contentType string) string {
	if contentType == jsonType {
		return jsonType
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// isJSON reports whether data of this type is JSON text.
func isJSON(contentType string) bool {
	media := mediaType(contentType)
	return media == "" || media == jsonType || media == "text/json" || strings.HasSuffix(media, "+json")
}

// percentEncode escapes the bytes that the binding's header rules name: space, double quote,
// percent and all bytes outside printable ASCII.
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

// percentDecode reverses percentEncode. percentDecode returns a value without percent-encoding
// unchanged; the official Go SDK does not encode values.
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

// unquote reverses the quoted-string form of older versions of the binding. unquote returns text
// that is not one whole quoted string unchanged.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	inner := s[1 : len(s)-1]
	for i := 0; i < len(inner); i++ {
		switch {
		case inner[i] == '"', inner[i] == '\\' && i+1 == len(inner):
			return s
		case inner[i] == '\\':
			i++
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}
