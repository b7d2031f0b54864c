package jsonscan

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Cursor reads a value. It reads and refuses the same values as [json.Unmarshal] with [Streamed].
// Each method starts at a value and ends after the value. A method returns false for a value of
// another form, and at an error in the syntax of a line. The cursor then has no valid position. The
// returned spans are parts of the text.
type Cursor struct {
	text  []byte
	at    int
	depth int    // number of open objects and arrays
	names *names // of the open objects of a line; nil for a value that a decoder has checked
	words *words // nil for none
}

// maxDepth is the largest depth of a value. The decoder has the same limit.
const maxDepth = 10_000

// Decode reads the object in value with the function read. A decoder must have checked the value.
// Decode returns false if value is not an object or a member has a form that read refuses.
func Decode(value []byte, read func(c *Cursor) bool) bool {
	c := Cursor{text: value}
	c.space()
	return read(&c)
}

// Members calls each for every member of an object, until each returns false. The function each
// must read or skip the value. Members returns false if each does, or if the value is not an
// object.
func (c *Cursor) Members(each func(name []byte) bool) bool {
	if c.depth++; c.Next() != '{' || c.depth > maxDepth {
		return false
	}
	members := c.names.begin()
	for n := 0; ; n++ {
		c.at++
		if c.space() == '}' && n == 0 {
			break
		}
		name, ok := c.name()
		if !ok || !c.names.add(name, &members) || c.space() != ':' {
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
	c.depth--
	c.names.end(&members)
	return true
}

// Elements is Members for an array.
func (c *Cursor) Elements(each func() bool) bool {
	if c.depth++; c.Next() != '[' || c.depth > maxDepth {
		return false
	}
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
	c.depth--
	return true
}

// Next returns the next byte, 0 at the end.
func (c *Cursor) Next() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// space skips white space and returns the next byte.
func (c *Cursor) space() byte {
	for {
		next := c.Next()
		if next != ' ' && next != '\n' && next != '\t' && next != '\r' {
			return next
		}
		c.at++
	}
}

// Skip skips the value.
func (c *Cursor) Skip() bool {
	if c.names == nil {
		return c.pass()
	}
	switch c.Next() {
	case '"':
		_, ok := c.quoted()
		return ok
	case '{':
		return c.Members(func([]byte) bool { return c.Skip() })
	case '[':
		return c.Elements(c.Skip)
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

// pass skips a value that a decoder has checked.
func (c *Cursor) pass() bool {
	for depth := 0; ; {
		switch c.text[c.at] {
		case '"':
			c.passText()
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

// passText is pass for a string.
func (c *Cursor) passText() {
	for escaped := true; escaped; {
		c.at += 1 + bytes.IndexByte(c.text[c.at+1:], '"')
		escaped = false
		for before := c.at - 1; c.text[before] == '\\'; before-- {
			escaped = !escaped
		}
	}
	c.at++
}

// name reads the name of a member.
func (c *Cursor) name() (text []byte, ok bool) {
	from := c.at
	text, ok = c.quoted()
	if ok && (text == nil || c.words == nil && !utf8.Valid(text)) {
		text, _ = Span(c.text[from:c.at]).Text()
	}
	return text, ok
}

// Value reads the value and returns its text, nil at an error.
func (c *Cursor) Value() Span {
	from := c.at
	if !c.Skip() {
		return nil
	}
	return c.text[from:c.at:c.at]
}

// Span reads a value of any form.
func (c *Cursor) Span(at *Span) bool {
	*at = c.Value()
	return *at != nil
}

// Into reads a value into at. Into returns false for a value that the type of at cannot hold.
func (c *Cursor) Into(at any) bool {
	value := c.Value()
	return value != nil && json.Unmarshal(value, at, Streamed) == nil
}

// Text reads a string or null. A value of another form leaves at unchanged.
func (c *Cursor) Text(at *string) bool {
	from := c.at
	if c.words != nil {
		if text, ok := c.quoted(); ok && text != nil { // the text of a line is valid UTF-8
			*at = c.words.text(text)
			return true
		}
		c.at = from
	}
	value := c.Value()
	if value == nil || value[0] != '"' && value[0] != 'n' {
		return false
	}
	*at = TextOf(value)
	return true
}

// SkipText skips a string or null, and returns false for a value of another form.
func (c *Cursor) SkipText() bool {
	value := c.Value()
	return value != nil && (value[0] == '"' || value[0] == 'n')
}

// Bool reads true, false or null.
func (c *Cursor) Bool(at *bool) bool {
	value := c.Value()
	*at = string(value) == "true"
	return value != nil && (value[0] == 't' || value[0] == 'f' || value[0] == 'n')
}

// Count reads a whole number or null.
func (c *Cursor) Count(at **int64) bool {
	from, n := c.at, int64(0)
	for ; c.at < from+18 && '0' <= c.Next() && c.Next() <= '9'; c.at++ {
		n = 10*n + int64(c.Next()-'0')
	}
	if end := c.Next(); (end == ',' || end == '}') && (c.at == from+1 || c.at > from && c.text[from] != '0') {
		*at = &n
		return true
	}
	c.at = from
	return c.Into(at)
}

// Null reads null, if it comes next.
func (c *Cursor) Null() bool { return c.Next() == 'n' && c.Skip() }

// ReadNew reads null, or an object with the function read.
func ReadNew[T any](c *Cursor, at **T, read func(*T, *Cursor) bool) bool {
	if c.Null() {
		*at = nil
		return true
	}
	if *at == nil {
		*at = new(T)
	}
	return read(*at, c)
}

// ReadList reads null, or an array of objects with the function read.
func ReadList[T any](c *Cursor, at *[]T, read func(*T, *Cursor) bool) bool {
	if *at = nil; c.Null() {
		return true
	}
	*at = []T{}
	return c.Elements(func() bool {
		*at = append(*at, *new(T))
		return c.Null() || read(&(*at)[len(*at)-1], c)
	})
}

// Streamed decodes like [Lenient] and accepts duplicate names. The last value of a name counts.
// An error at a duplicate name would end the document.
var Streamed = json.JoinOptions(Lenient, jsontext.AllowDuplicateNames(true))

// Lenient reads lone surrogates as U+FFFD. Logs contain escaped lone surrogates, where JavaScript
// cut a string in the middle of a character. Raw bytes are checked before.
var Lenient = jsontext.AllowInvalidUTF8(true)
