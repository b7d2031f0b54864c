package jsonscan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"
)

// Cursor reads a value that a decoder has checked. A cursor finds the end of each part without
// checking the syntax again. Cursor accepts and refuses the same values as [json.Unmarshal] with
// [Streamed]. Each method starts at a value and ends after the value. The returned spans are
// parts of the text.
type Cursor struct {
	text  []byte
	at    int
	words *words // nil for none
}

// Decode reads the object in value with the function read. Decode returns false if value is not
// an object or a member has a form that read refuses.
func Decode(value []byte, read func(c *Cursor) bool) bool {
	c := Cursor{text: value}
	c.space()
	return read(&c)
}

// Members calls each for every member of an object, until each returns false. The function each
// must read or skip the value. Members returns false if each does, or if the value is not an
// object.
func (c *Cursor) Members(each func(name []byte) bool) bool {
	if c.Next() != '{' {
		return false
	}
	for n := 0; ; n++ {
		c.at++
		if c.space() == '}' && n == 0 {
			break
		}
		name, ok := c.plain()
		if !ok {
			name, _ = c.Value().Text()
		}
		c.space()
		c.at++ // the colon
		c.space()
		if !each(name) {
			return false
		}
		if c.space() == '}' {
			break
		}
	}
	c.at++
	return true
}

// Elements is Members for an array.
func (c *Cursor) Elements(each func() bool) bool {
	if c.Next() != '[' {
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
		if c.space() == ']' {
			break
		}
	}
	c.at++
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

// quoted skips a string.
func (c *Cursor) quoted() {
	for escaped := true; escaped; {
		c.at += 1 + bytes.IndexByte(c.text[c.at+1:], '"')
		escaped = false
		for before := c.at - 1; c.text[before] == '\\'; before-- {
			escaped = !escaped
		}
	}
	c.at++
}

// plain reads a string that has no escapes, and returns its text. plain returns false for other
// values and leaves them unread. The text of a line is valid UTF-8; see [Lines.Read].
func (c *Cursor) plain() ([]byte, bool) {
	if c.words == nil || c.Next() != '"' {
		return nil, false
	}
	rest := c.text[c.at+1:]
	inner := rest[:bytes.IndexByte(rest, '"')]
	if bytes.IndexByte(inner, '\\') >= 0 {
		return nil, false
	}
	c.at += len(inner) + 2
	return inner, true
}

// Value reads the value and returns its text.
func (c *Cursor) Value() Span {
	from := c.at
	c.Skip()
	return c.text[from:c.at:c.at]
}

// Span reads a value of any form.
func (c *Cursor) Span(at *Span) bool {
	*at = c.Value()
	return true
}

// Into reads a value into at. Into returns false for a value that the type of at cannot hold.
func (c *Cursor) Into(at any) bool {
	return json.Unmarshal(c.Value(), at, Streamed) == nil
}

// Text reads a string or null. A value of another form leaves at unchanged.
func (c *Cursor) Text(at *string) bool {
	if text, ok := c.plain(); ok {
		*at = c.words.text(text)
		return true
	}
	value := c.Value()
	if value[0] != '"' && value[0] != 'n' {
		return false
	}
	*at = TextOf(value)
	return true
}

// SkipText skips a string or null, and returns false for a value of another form.
func (c *Cursor) SkipText() bool {
	value := c.Value()
	return value[0] == '"' || value[0] == 'n'
}

// Bool reads true, false or null.
func (c *Cursor) Bool(at *bool) bool {
	value := c.Value()
	*at = string(value) == "true"
	return value[0] == 't' || value[0] == 'f' || value[0] == 'n'
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
