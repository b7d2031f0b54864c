package jsonscan

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Span is a value of a record as it stands in the log: a part of the record's
// own bytes, which hold until the next record is read. nil is a member that the
// record does not have.
type Span []byte

// UnmarshalJSONFrom takes the value without a copy. The decoder reads the
// record's bytes in place, so they outlive it.
func (s *Span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*s = Span(value)
	return err
}

// Kind is that of the value, 0 for none.
func (s Span) Kind() jsontext.Kind { return jsontext.Value(s).Kind() }

// TextOf is a string's text, and any other value as it stands in the log.
func TextOf(value Span) string {
	text, own := value.Text()
	if own && len(text) > 0 { // nothing else has these bytes
		return unsafe.String(unsafe.SliceData(text), len(text))
	}
	return string(text)
}

// TextIn is what [TextOf] returns, in room where the log does not hold it as it is. It
// holds until the next record is read or room is used again.
func (s Span) TextIn(room *[]byte) string {
	var text []byte
	if s.Kind() == '"' && bytes.IndexByte(s, '\\') >= 0 {
		*room, _ = jsontext.AppendUnquote((*room)[:0], bytes.TrimSpace(s)) // the error is of what U+FFFD stands for
		text = *room
	} else {
		text, _ = s.Text()
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// Text is what [TextOf] returns, without a copy where the log holds it as it is;
// own reports that there is one.
func (s Span) Text() (text []byte, own bool) {
	switch s.Kind() {
	case '"':
		quoted := bytes.TrimSpace(s)
		inner := quoted[1 : len(quoted)-1] // syntax is known to be right
		if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			return inner, false
		}
		text, _ = jsontext.AppendUnquote(nil, quoted) // the error is of what U+FFFD stands for
		return text, true
	case 'n':
		return nil, false
	}
	return s, false
}
