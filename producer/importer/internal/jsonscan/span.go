package jsonscan

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Span is a value of a record in its original text. A span is a part of the record's bytes, which
// are valid until the next record is read. A nil span is a missing member.
type Span []byte

// UnmarshalJSONFrom takes the value without a copy. The decoder reads the record's bytes in
// place, so the bytes outlive the decoder.
func (s *Span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*s = Span(value)
	return err
}

// Kind is the kind of the value, 0 for a missing value.
func (s Span) Kind() jsontext.Kind { return jsontext.Value(s).Kind() }

// TextOf returns the text of a string, and the original text of any other value.
func TextOf(value Span) string {
	return asString(value.Text())
}

// asString returns the string of a text. own reports that no other value shares the bytes.
func asString(text []byte, own bool) string {
	if own && len(text) > 0 {
		return unsafe.String(unsafe.SliceData(text), len(text))
	}
	return string(text)
}

// TextIn returns the same text as [TextOf]. Text that needs unescaping is written into room. The
// result is valid until the next record is read or room is reused.
func (s Span) TextIn(room *[]byte) string {
	var text []byte
	if s.Kind() == '"' && bytes.IndexByte(s, '\\') >= 0 {
		*room, _ = jsontext.AppendUnquote((*room)[:0], bytes.TrimSpace(s)) // the error reports the text that U+FFFD replaces
		text = *room
	} else {
		text, _ = s.Text()
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// Text returns the same text as [TextOf], without a copy where the log holds the text unescaped.
// own reports whether text is a copy.
func (s Span) Text() (text []byte, own bool) {
	switch s.Kind() {
	case '"':
		quoted := bytes.TrimSpace(s)
		inner := quoted[1 : len(quoted)-1] // the syntax is already checked
		if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			return inner, false
		}
		text, _ = jsontext.AppendUnquote(nil, quoted) // the error reports the text that U+FFFD replaces
		return text, true
	case 'n':
		return nil, false
	}
	return s, false
}
