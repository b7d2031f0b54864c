package importer

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// cursor reads a value whose syntax is known to be right, since a decoder has returned
// it: it looks for where each part ends, and checks nothing again. What it takes and
// refuses is what [json.Unmarshal] does with [streamed]. Its methods begin at a value
// and end behind it; the spans that it gives are parts of the text.
type cursor struct {
	text []byte
	at   int
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
	if c.text[c.at] != '{' {
		return false
	}
	c.at++
	for c.space(); c.text[c.at] != '}'; c.comma() {
		name, _ := c.value().text()
		c.space()
		c.at++ // the colon
		c.space()
		if !each(name) {
			return false
		}
	}
	c.at++
	return true
}

// elements is members for an array.
func (c *cursor) elements(each func() bool) bool {
	if c.text[c.at] != '[' {
		return false
	}
	c.at++
	for c.space(); c.text[c.at] != ']'; c.comma() {
		if !each() {
			return false
		}
	}
	c.at++
	return true
}

func (c *cursor) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\n' || c.text[c.at] == '\t' || c.text[c.at] == '\r') {
		c.at++
	}
}

func (c *cursor) comma() {
	if c.space(); c.text[c.at] == ',' {
		c.at++
		c.space()
	}
}

// skip goes behind the value.
func (c *cursor) skip() bool {
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

func (c *cursor) value() span {
	from := c.at
	c.skip()
	return c.text[from:c.at:c.at]
}

// span reads a value of any form.
func (c *cursor) span(at *span) bool {
	*at = c.value()
	return true
}

// into reads a value of any form that the type of what at points to has.
func (c *cursor) into(at any) bool { return json.Unmarshal(c.value(), at, streamed) == nil }

// string reads a string, or null. A value of another form leaves at what it was.
func (c *cursor) string(at *string) bool {
	value := c.value()
	if value[0] != '"' && value[0] != 'n' {
		return false
	}
	*at = textOf(value)
	return true
}

// null reads null, if it comes next.
func (c *cursor) null() bool { return c.text[c.at] == 'n' && c.skip() }

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
