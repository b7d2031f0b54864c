package schema

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The values that [quick] reads without knowing a Go type for them, and the
// marks of JSON's grammar. Each function starts at a value or a mark, with or
// without white space before it, and ends behind it.

// peek returns the first byte of the next value or mark, and 0 at the end.
func (q *quick) peek() byte {
	q.space()
	if q.at < len(q.data) {
		return q.data[q.at]
	}
	return 0
}

func (q *quick) space() {
	for q.at < len(q.data) && q.data[q.at] <= ' ' {
		switch q.data[q.at] {
		case ' ', '\n', '\t', '\r':
			q.spaced = true
			q.at++
		default:
			return
		}
	}
}

// open reads the mark that opens an object or array.
func (q *quick) open(mark byte) bool {
	if q.peek() != mark || q.depth == MaxDepth {
		return false
	}
	q.at++
	q.depth++
	return true
}

// end reads the closing mark if it comes next.
func (q *quick) end(mark byte) bool {
	if q.peek() != mark {
		return false
	}
	q.at++
	q.depth--
	return true
}

// more reads the mark behind a member or element, and reports whether another
// one follows.
func (q *quick) more(mark byte) (more, ok bool) {
	if q.peek() == ',' {
		q.at++
		return true, true
	}
	return false, q.end(mark)
}

// name reads a member's name and the colon.
func (q *quick) name() (string, bool) {
	name, ok := q.string()
	if !ok || q.peek() != ':' {
		return "", false
	}
	q.at++
	return name, true
}

// string reads a string.
func (q *quick) string() (string, bool) {
	if q.peek() != '"' {
		return "", false
	}
	start := q.at + 1
	at := plainEnd(q.text, start)
	if at < len(q.text) && q.text[at] == '"' {
		q.at = at + 1
		return q.text[start:at], true
	}
	for ; at < len(q.text); at++ {
		switch c := q.text[at]; {
		case c == '"':
			q.at = at + 1
			text := q.text[start:at]
			return text, utf8.ValidString(text)
		case c == '\\':
			return q.escaped(start-1, at)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped reads the string that begins at start and has its first backslash
// at the given place.
func (q *quick) escaped(start, at int) (string, bool) {
	for ; at < len(q.data) && q.data[at] != '"'; at++ {
		if q.data[at] == '\\' {
			at++
		}
	}
	if at >= len(q.data) {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, q.data[start:at+1])
	q.at = at + 1
	return string(text), err == nil
}

// count reads a whole number from 0 of at most 18 digits.
func (q *quick) count() (n int64, ok bool) {
	q.space()
	start := q.at
	for ; q.at < len(q.data) && q.data[q.at]-'0' <= 9; q.at++ {
		n = n*10 + int64(q.data[q.at]-'0')
	}
	digits := q.at - start
	return n, digits == 1 || digits > 1 && digits <= 18 && q.data[start] != '0'
}

// number reads a number as JSON writes it and returns its text.
func (q *quick) number() (string, bool) {
	q.space()
	start := q.at
	if q.here() == '-' {
		q.at++
	}
	first := q.here()
	if whole := q.digits(); whole == 0 || whole > 1 && first == '0' {
		return "", false
	}
	if q.here() == '.' {
		q.at++
		if q.digits() == 0 {
			return "", false
		}
	}
	if q.here()|0x20 == 'e' {
		q.at++
		if c := q.here(); c == '+' || c == '-' {
			q.at++
		}
		if q.digits() == 0 {
			return "", false
		}
	}
	return q.text[start:q.at], true
}

func (q *quick) here() byte {
	if q.at < len(q.data) {
		return q.data[q.at]
	}
	return 0
}

func (q *quick) digits() (n int) {
	for ; q.here()-'0' <= 9; n++ {
		q.at++
	}
	return n
}

// literal reads one of the words of JSON if it comes next.
func (q *quick) literal(word string) bool {
	q.space()
	if len(q.data)-q.at < len(word) || q.text[q.at:q.at+len(word)] != word {
		return false
	}
	q.at += len(word)
	return true
}

// any reads a value as the decoder reads it into an interface.
func (q *quick) any() (any, bool) {
	switch q.peek() {
	case '"':
		return boxed(q.string())
	case '{':
		m := make(map[string]any)
		return m, q.members(func(name string) bool {
			if _, twice := m[name]; twice {
				return false
			}
			value, ok := q.any()
			m[name] = value
			return ok
		})
	case '[':
		list := []any{}
		return list, q.elements(func() bool {
			value, ok := q.any()
			list = append(list, value)
			return ok
		})
	case 't':
		return true, q.literal("true")
	case 'f':
		return false, q.literal("false")
	case 'n':
		return nil, q.literal("null")
	}
	return boxed(q.float())
}

func boxed[T any](value T, ok bool) (any, bool) { return value, ok }

// skip reads a value for nothing but its grammar, its names and the rules.
func (q *quick) skip() bool {
	switch q.peek() {
	case '"':
		_, ok := q.string()
		return ok
	case '{':
		var room [8]string
		names := room[:0]
		return q.members(func(name string) bool {
			for _, other := range names {
				if name == other {
					return false
				}
			}
			names = append(names, name)
			return len(names) <= len(room) && q.skip()
		})
	case '[':
		return q.elements(q.skip)
	case 't':
		return q.literal("true")
	case 'f':
		return q.literal("false")
	case 'n':
		return q.literal("null")
	}
	_, ok := q.number()
	return ok
}

// members reads an object of members that no type names; value reads one
// member's value. Each is judged by what its name means to the rules.
func (q *quick) members(value func(name string) bool) bool {
	if !q.open('{') {
		return false
	}
	for more := !q.end('}'); more; {
		name, ok := q.name()
		if !ok {
			return false
		}
		q.space()
		m := member{name: []byte(name), value: q.data[q.at:], depth: q.depth, free: q.free}
		means := meaningOf(m.name)
		q.free = m.free || means.freeBelow(q.rules.compaction, m.depth, m.name)
		ok = value(name)
		q.free = m.free
		ok = ok && q.allowed(m, means)
		if ok {
			more, ok = q.more('}')
		}
		if !ok {
			return false
		}
	}
	return true
}

// elements reads an array of elements that no type names.
func (q *quick) elements(value func() bool) bool {
	if !q.open('[') {
		return false
	}
	for more := !q.end(']'); more; {
		ok := value()
		if ok {
			more, ok = q.more(']')
		}
		if !ok {
			return false
		}
	}
	return true
}
