package dialect

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient accepts what providers accept: repeated names and invalid UTF-8.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// member is a member of an object. Its value shares the memory of the object.
type member struct {
	name  string
	value jsontext.Value
}

// fields are the members of an object, in order.
type fields []member

// get returns the last member of the name, nil if there is none.
func (f fields) get(name string) jsontext.Value {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return f[i].value
		}
	}
	return nil
}

func (f fields) text(name string) string { return text(f.get(name)) }

// members reads an object. members returns false for any other value.
func members(value []byte) (fields, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), lenient...)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, false
	}
	var list fields
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		if m.value, err = dec.ReadValue(); err != nil {
			return nil, false
		}
		list = append(list, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	return list, ends(dec)
}

// elements reads an array. elements returns false for any other value.
func elements(value []byte) ([]jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), lenient...)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '[' {
		return nil, false
	}
	list := []jsontext.Value{}
	for {
		switch dec.PeekKind() {
		case ']':
			_, err := dec.ReadToken()
			return list, err == nil && ends(dec)
		case 0:
			return nil, false
		}
		element, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, element)
	}
}

// ends reports whether nothing but white space follows.
func ends(dec *jsontext.Decoder) bool {
	return len(bytes.TrimLeft(dec.UnreadBuffer(), " \t\r\n")) == 0
}

// text returns the text of a string, "" for any other value.
func text(value jsontext.Value) string { return string(textBytes(value)) }

// textBytes returns the text of a string, nil for any other value. A text without escapes
// shares the memory of value.
func textBytes(value jsontext.Value) []byte {
	if value.Kind() != '"' {
		return nil
	}
	quoted := bytes.TrimSpace(value)
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner[:len(inner):len(inner)]
	}
	out, _ := jsontext.AppendUnquote([]byte{}, quoted) // the error reports text that U+FFFD replaces
	return out
}

// quote returns the JSON text of a string.
func quote(s string) []byte {
	out, _ := jsontext.AppendQuote(nil, s) // the error reports text that U+FFFD replaces
	return out
}

// object returns the JSON text of an object.
func object(list ...member) []byte {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(m.name)...), ':'), bytes.TrimSpace(m.value)...)
	}
	return append(out, '}')
}

// part returns the JSON text of a text part. quoted is the text as JSON.
func part(kind string, quoted []byte) []byte {
	return object(member{"type", quote(kind)}, member{"text", quoted})
}

// empty reports whether a value says nothing: null, an empty string, array or object.
func empty(value jsontext.Value) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// whole returns a number of tokens, nil for any other value.
func whole(value jsontext.Value) *int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil || n < 0 || n >= 1<<53 {
		return nil
	}
	return &n
}

// shortest texts of members that become attributes and names.
const maxName = 256

// short returns a text of at most maxName bytes without control characters, "" for others.
func short(s string) string {
	if len(s) > maxName {
		return ""
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return ""
		}
	}
	return s
}

// blockName returns a type in the form of a word of the contract, "unknown" for others.
func blockName(s string) string {
	if s == "" || len(s) > 64 {
		return "unknown"
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return "unknown"
		}
	}
	return s
}
