package importer

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"
)

// cursor reads a value whose syntax is known to be right, since a decoder has returned
// it: it looks for where each part ends, and checks nothing again. What it takes and
// refuses is what [json.Unmarshal] does with [streamed]. Its methods begin at a value
// and end behind it; the spans that it gives are parts of the text.
type cursor struct {
	text   []byte
	at     int
	syntax *syntax // checks what is read, and that no name stands twice; nil where it is known
	words  *words  // nil for none
}

// decode reads the object in value by read. It returns false where the value is none,
// or one of its members has a form that read refuses.
func decode(value []byte, read func(c *cursor) bool) bool {
	c := cursor{text: value}
	c.space()
	return read(&c)
}

// members calls each for every member of an object, which must read or skip the value,
// until it returns false. It returns false then, and where the value is no object.
func (c *cursor) members(each func(name []byte) bool) bool {
	if c.next() != '{' || !c.syntax.enter() {
		return false
	}
	first, marks := c.syntax.mark(), uint64(0)
	for n := 0; ; n++ {
		c.at++
		if c.space() == '}' && n == 0 {
			break
		}
		from := c.at
		name, hash, plain := c.plainName()
		switch {
		case c.syntax != nil:
			if !plain || !c.syntax.isNew(hash, first, &marks) {
				return false
			}
		case !plain || !utf8.Valid(name):
			c.at = from
			name, _ = c.value().text()
		}
		if c.space() != ':' {
			return false
		}
		c.at++
		c.space()
		if !each(name) {
			return false
		}
		if end := c.space(); end == '}' {
			break
		} else if end != ',' {
			return false
		}
	}
	c.at++
	c.syntax.leave(first)
	return true
}

// elements is members for an array.
func (c *cursor) elements(each func() bool) bool {
	if c.next() != '[' || !c.syntax.enter() {
		return false
	}
	first := c.syntax.mark()
	for n := 0; ; n++ {
		c.at++
		if c.space() == ']' && n == 0 {
			break
		}
		if !each() {
			return false
		}
		if end := c.space(); end == ']' {
			break
		} else if end != ',' {
			return false
		}
	}
	c.at++
	c.syntax.leave(first)
	return true
}

// next is the byte that comes next, 0 at the end.
func (c *cursor) next() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// space goes behind white space, and is next.
func (c *cursor) space() byte {
	for {
		next := c.next()
		if next != ' ' && next != '\n' && next != '\t' && next != '\r' {
			return next
		}
		c.at++
	}
}

// skip goes behind the value.
func (c *cursor) skip() bool {
	if c.syntax != nil {
		return c.syntax.value(c)
	}
	for depth := 0; ; {
		switch c.text[c.at] {
		case '"':
			c.quoted()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		default:
			if c.at++; depth > 0 {
				continue
			}
			for c.at < len(c.text) && c.text[c.at] > ' ' && c.text[c.at] != ',' && c.text[c.at] != ']' && c.text[c.at] != '}' {
				c.at++
			}
		}
		if depth == 0 {
			return true
		}
	}
}

// quoted goes behind a string.
func (c *cursor) quoted() {
	for escaped := true; escaped; {
		c.at += 1 + bytes.IndexByte(c.text[c.at+1:], '"')
		escaped = false
		for before := c.at - 1; c.text[before] == '\\'; before-- {
			escaped = !escaped
		}
	}
	c.at++
}

// value is the value, nil where it is none.
func (c *cursor) value() span {
	from := c.at
	if !c.skip() {
		return nil
	}
	return c.text[from:c.at:c.at]
}

// span reads a value of any form.
func (c *cursor) span(at *span) bool {
	*at = c.value()
	return *at != nil
}

// into reads a value of any form that the type of what at points to has.
func (c *cursor) into(at any) bool {
	value := c.value()
	return value != nil && json.Unmarshal(value, at, streamed) == nil
}

// string reads a string, or null. A value of another form leaves at what it was.
func (c *cursor) string(at *string) bool {
	value := c.value()
	switch {
	case value == nil || value[0] != '"' && value[0] != 'n':
		return false
	case c.words != nil && len(value) <= maxWord:
		*at = c.words.text(value)
	default:
		*at = textOf(value)
	}
	return true
}

// aString is string for a member that nobody asks for.
func (c *cursor) aString() bool {
	value := c.value()
	return value != nil && (value[0] == '"' || value[0] == 'n')
}

// bool reads true or false, or null.
func (c *cursor) bool(at *bool) bool {
	value := c.value()
	*at = string(value) == "true"
	return value != nil && (value[0] == 't' || value[0] == 'f' || value[0] == 'n')
}

// count reads a whole number, or null.
func (c *cursor) count(at **int64) bool {
	from, n := c.at, int64(0)
	for ; c.at < from+18 && '0' <= c.next() && c.next() <= '9'; c.at++ {
		n = 10*n + int64(c.next()-'0')
	}
	if end := c.next(); (end == ',' || end == '}') && (c.at == from+1 || c.at > from && c.text[from] != '0') {
		*at = &n
		return true
	}
	c.at = from
	return c.into(at)
}

// null reads null, if it comes next.
func (c *cursor) null() bool { return c.next() == 'n' && c.skip() }

// readNew reads an object by read, or null.
func readNew[T any](c *cursor, at **T, read func(*T, *cursor) bool) bool {
	if c.null() {
		*at = nil
		return true
	}
	if *at == nil {
		*at = new(T)
	}
	return read(*at, c)
}

// readList reads an array of objects by read, or null.
func readList[T any](c *cursor, at *[]T, read func(*T, *cursor) bool) bool {
	if *at = nil; c.null() {
		return true
	}
	*at = []T{}
	return c.elements(func() bool {
		*at = append(*at, *new(T))
		return c.null() || read(&(*at)[len(*at)-1], c)
	})
}

// streamed decodes like [lenient]; a name that stands twice keeps its last
// value, since a document that ended at one would lose the rest.
var streamed = json.JoinOptions(lenient, jsontext.AllowDuplicateNames(true))

// Logs escape lone surrogates, where JavaScript cut a string in the middle
// of a character; they are read as U+FFFD. Raw bytes are checked beforehand.
var lenient = jsontext.AllowInvalidUTF8(true)
