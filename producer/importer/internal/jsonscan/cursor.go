package jsonscan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"
)

// Cursor reads a value whose syntax is known to be right, since a decoder has returned
// it: it looks for where each part ends, and checks nothing again. What it takes and
// refuses is what [json.Unmarshal] does with [Streamed]. Its methods begin at a value
// and end behind it; the spans that it gives are parts of the text.
type Cursor struct {
	text []byte
	at   int
}

// ReadLine reads a line by read. It returns false for a line that is not valid, and for
// one that read refuses: the strict decoder finds the reason.
func ReadLine(line []byte, read func(c *Cursor) bool) bool {
	return jsontext.Value(line).IsValid(Lenient) && Decode(line, read)
}

// Decode reads the object in value by read. It returns false where the value is none,
// or one of its members has a form that read refuses.
func Decode(value []byte, read func(c *Cursor) bool) bool {
	c := Cursor{text: value}
	c.space()
	return read(&c)
}

// Members calls each for every member of an object, which must read or skip the value,
// until it returns false. It returns false then, and where the value is no object.
func (c *Cursor) Members(each func(name []byte) bool) bool {
	if c.Next() != '{' {
		return false
	}
	for n := 0; ; n++ {
		c.at++
		if c.space() == '}' && n == 0 {
			break
		}
		name, _ := c.Value().Text()
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

// Elements is members for an array.
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

// Next is the byte that comes next, 0 at the end.
func (c *Cursor) Next() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// space goes behind white space, and is next.
func (c *Cursor) space() byte {
	for {
		next := c.Next()
		if next != ' ' && next != '\n' && next != '\t' && next != '\r' {
			return next
		}
		c.at++
	}
}

// Skip goes behind the value.
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

// quoted goes behind a string.
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

// Value is the value.
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

// Into reads a value of any form that the type of what at points to has.
func (c *Cursor) Into(at any) bool {
	return json.Unmarshal(c.Value(), at, Streamed) == nil
}

// Text reads a string, or null. A value of another form leaves at what it was.
func (c *Cursor) Text(at *string) bool {
	value := c.Value()
	if value[0] != '"' && value[0] != 'n' {
		return false
	}
	*at = TextOf(value)
	return true
}

// SkipText is string for a member that nobody asks for.
func (c *Cursor) SkipText() bool {
	value := c.Value()
	return value[0] == '"' || value[0] == 'n'
}

// Bool reads true or false, or null.
func (c *Cursor) Bool(at *bool) bool {
	value := c.Value()
	*at = string(value) == "true"
	return value[0] == 't' || value[0] == 'f' || value[0] == 'n'
}

// Count reads a whole number, or null.
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

// ReadNew reads an object by read, or null.
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

// ReadList reads an array of objects by read, or null.
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

// Streamed decodes like [Lenient]; a name that stands twice keeps its last
// value, since a document that ended at one would lose the rest.
var Streamed = json.JoinOptions(Lenient, jsontext.AllowDuplicateNames(true))

// Logs escape lone surrogates, where JavaScript cut a string in the middle
// of a character; they are read as U+FFFD. Raw bytes are checked beforehand.
var Lenient = jsontext.AllowInvalidUTF8(true)
