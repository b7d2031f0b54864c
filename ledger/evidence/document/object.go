package document

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// object writes a JSON object member by member, in call order, into a reused buffer.
type object struct{ b []byte }

// begin starts an object and discards earlier text.
func (o *object) begin() *object {
	o.b = append(o.b[:0], '{')
	return o
}

func (o *object) key(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = appendText(o.b, name)
	o.b = append(o.b, ':')
}

// text writes a string member, unless the value is empty.
func (o *object) text(name, value string) *object {
	if value != "" {
		o.key(name)
		o.b = appendText(o.b, value)
	}
	return o
}

func (o *object) texts(name string, values []string) *object {
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendText(o.b, v)
	}
	o.b = append(o.b, ']')
	return o
}

func (o *object) count(name string, n uint64) *object {
	o.key(name)
	o.b = strconv.AppendUint(o.b, n, 10)
	return o
}

func (o *object) time(name string, t time.Time) *object {
	if t.IsZero() {
		return o
	}
	return o.text(name, formatTime(t))
}

// raw writes a member with a JSON value, also an empty one.
func (o *object) raw(name string, value []byte) *object {
	if len(value) > 0 {
		o.key(name)
		o.b = append(o.b, value...)
	}
	return o
}

// open and shut begin and end an object within the object.
func (o *object) open(name string) *object {
	o.key(name)
	o.b = append(o.b, '{')
	return o
}

func (o *object) shut() *object {
	o.b = append(o.b, '}')
	return o
}

// end closes the object and returns its text, valid until the next begin.
func (o *object) end() []byte {
	o.b = append(o.b, '}')
	return o.b
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, text string) []byte {
	plain := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, text...)
		return append(b, '"')
	}
	b, _ = jsontext.AppendQuote(b, text) // an error means replaced bytes
	return b
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
