package importer

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// span is a value of a record as it stands in the log: a part of the record's
// own bytes, which hold until the next record is read. nil is a member that the
// record does not have.
type span []byte

// UnmarshalJSONFrom takes the value without a copy. The decoder reads the
// record's bytes in place, so they outlive it.
func (s *span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*s = span(value)
	return err
}

// Kind is that of the value, 0 for none.
func (s span) Kind() jsontext.Kind { return jsontext.Value(s).Kind() }

// textOf is a string's text, and any other value as it stands in the log.
func textOf(value span) string {
	switch value.Kind() {
	case '"':
		inner := bytes.TrimSpace(value)
		inner = inner[1 : len(inner)-1] // syntax is known to be right
		if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			return string(inner)
		}
		text, _ := jsontext.AppendUnquote(nil, bytes.TrimSpace(value)) // the error is of what U+FFFD stands for
		return string(text)
	case 'n':
		return ""
	}
	return string(value)
}
