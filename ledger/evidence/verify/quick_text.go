package verify

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What a quick reading is too much for.
const (
	quickDepth   = 32
	quickMembers = 64 // of an object whose members are not sorted
	quickDigits  = 15 // that a number holds exactly
)

// A member is one of an object whose value is a text. Both alias the object.
type member struct {
	name, value []byte
	escaped     bool // the value is as JSON has it
}

// memberOf returns the text of a member.
func memberOf(members []member, name string) ([]byte, bool) {
	for _, m := range members {
		if string(m.name) == name {
			if m.escaped {
				text, err := jsontext.AppendUnquote(nil, append(append([]byte{'"'}, m.value...), '"'))
				return text, err == nil
			}
			return m.value, true
		}
	}
	return nil, false
}

// quickText is a JSON text that is being read. It can be used again and again.
type quickText struct {
	text    []byte
	at      int
	depth   int
	names   [][]byte // of the members so far of all objects that are open
	members []member // of the text where it is an object, those that are texts
}

// accepts reports whether the text is certainly JSON and meets the schema. If so
// it has the members.
func (t *quickText) accepts(q *quickSchema, text []byte) bool {
	*t = quickText{text: text, names: t.names[:0], members: t.members[:0]}
	return t.value(q) && t.at == len(text)
}

// next returns the byte that is read next, 0 at the end.
func (t *quickText) next() byte {
	if t.at < len(t.text) {
		return t.text[t.at]
	}
	return 0
}

// take goes beyond a byte if it comes next.
func (t *quickText) take(c byte) bool {
	if t.next() != c {
		return false
	}
	t.at++
	return true
}

func (t *quickText) value(q *quickSchema) bool {
	switch c := t.next(); c {
	case '"':
		text, _, ok := t.string()
		return ok && q.allowsText(text)
	case '{':
		return q.allows(objectKind) && t.object(q)
	case '[':
		return q.allows(arrayKind) && t.array(q)
	case 't':
		return q.allows(boolKind) && t.word("true")
	case 'f':
		return q.allows(boolKind) && t.word("false")
	case 'n':
		return q.allows(nullKind) && t.word("null")
	default:
		return t.number(q)
	}
}

func (t *quickText) word(word string) bool {
	ok := bytes.HasPrefix(t.text[t.at:], []byte(word))
	t.at += len(word)
	return ok
}

// string reads a string, of which it returns what stands between the quotation
// marks, and whether there are escapes in it.
func (t *quickText) string() (text []byte, escaped, ok bool) {
	if !t.take('"') {
		return nil, false, false
	}
	from, ascii := t.at, true
	for ; t.at < len(t.text); t.at++ {
		switch c := t.text[t.at]; {
		case c == '"':
			text = t.text[from:t.at]
			t.at++
			return text, escaped, ascii || utf8.Valid(text)
		case c == '\\':
			escaped = true
			t.at++
			switch t.next() {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default:
				return nil, true, false
			}
		case c < ' ':
			return nil, escaped, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, escaped, false
}

// number reads a number without an exponent.
func (t *quickText) number(q *quickSchema) bool {
	minus := t.take('-')
	from, point := t.at, -1
	for ; t.at < len(t.text); t.at++ {
		c := t.text[t.at]
		if c == '.' && point < 0 {
			point = t.at
		} else if c < '0' || c > '9' {
			break
		}
	}
	whole := t.at
	kind := integerKind
	if point >= 0 {
		whole, kind = point, numberKind
	}
	ok := whole > from && (t.text[from] != '0' || whole == from+1) && point != t.at-1 && t.at-from <= quickDigits
	return ok && q.allows(kind) && (q == nil || !q.positive || !minus)
}

func (t *quickText) array(q *quickSchema) bool {
	var elements *quickSchema
	if q != nil {
		elements = q.elements
	}
	t.at++
	if t.take(']') {
		return true
	}
	if t.depth++; t.depth > quickDepth {
		return false
	}
	for {
		if !t.value(elements) {
			return false
		}
		if !t.take(',') {
			t.depth--
			return t.take(']')
		}
	}
}

func (t *quickText) object(q *quickSchema) bool {
	outermost := t.at == 0
	t.at++
	if t.depth++; t.depth > quickDepth {
		return false
	}
	first, sorted := len(t.names), true
	var seen uint64
	for n := 0; ; n++ {
		if n == 0 && t.take('}') {
			break
		}
		name, escaped, ok := t.string()
		if !ok || escaped || !t.take(':') {
			return false
		}
		before := t.names[first:]
		if sorted = sorted && (n == 0 || bytes.Compare(before[n-1], name) < 0); !sorted && (n >= quickMembers || has(before, name)) {
			return false
		}
		t.names = append(t.names, name)
		m := q.member(name)
		seen |= m.bit
		if outermost && t.next() == '"' {
			text, escaped, ok := t.string()
			if !ok || !m.schema.allowsText(text) {
				return false
			}
			t.members = append(t.members, member{name, text, escaped})
		} else if !t.value(m.schema) {
			return false
		}
		if !t.take(',') {
			if !t.take('}') {
				return false
			}
			break
		}
	}
	t.depth--
	t.names = t.names[:first]
	return q == nil || seen&q.required == q.required
}

// member returns what a member of an object must be.
func (q *quickSchema) member(name []byte) quickMember {
	if q == nil {
		return quickMember{}
	}
	m, ok := q.members[string(name)]
	if !ok || m.schema == nil {
		m.schema = q.others
	}
	return m
}

func has(names [][]byte, name []byte) bool {
	for _, before := range names {
		if bytes.Equal(before, name) {
			return true
		}
	}
	return false
}
