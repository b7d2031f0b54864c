package jsonscan

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// names are the names of the open objects of a line, as hashes. The checks of names refuse more
// than they must: names with equal hashes, and objects with many names. The strict decoder then
// reads the line.
type names struct {
	hashes [256]uint64
	used   int
}

// members are the names of one object.
type members struct {
	first int    // index of the first name
	marks uint64 // a bit for each name; few names share one
}

var nameSeed = maphash.MakeSeed()

// begin begins an object.
func (n *names) begin() (m members) {
	if n != nil {
		m.first = n.used
	}
	return m
}

// end ends an object.
func (n *names) end(m *members) {
	if n != nil {
		n.used = m.first
	}
}

// add adds a name to an object. add returns false for a name that the object may have already.
func (n *names) add(name []byte, m *members) bool {
	if n == nil {
		return true
	}
	hash := maphash.Bytes(nameSeed, name)
	mark := uint64(1) << (hash >> 58)
	if m.marks&mark != 0 {
		for _, other := range n.hashes[m.first:n.used] {
			if other == hash {
				return false
			}
		}
	}
	if n.used == len(n.hashes) {
		return false
	}
	m.marks |= mark
	n.hashes[n.used] = hash
	n.used++
	return true
}

// quoted skips a string, and returns false for another value. text is the text of a string without
// escapes, nil for a string with escapes.
func (c *Cursor) quoted() (text []byte, ok bool) {
	if c.Next() != '"' {
		return nil, false
	}
	from, escaped := c.at+1, false
	for at := from; ; {
		if at = plainEnd(c.text, at); at == len(c.text) {
			return nil, false
		}
		switch c.text[at] {
		case '"':
			if c.at = at + 1; escaped {
				return nil, true
			}
			return c.text[from:at:at], true
		case '\\':
			n := escapeLen(c.text[at:])
			if n == 0 {
				return nil, false
			}
			at, escaped = at+n, true
		default:
			return nil, false
		}
	}
}

// plainEnd returns the offset of the next quote, backslash or control character, or the length of
// the text. The search starts at the given offset. It tests eight bytes at a time. A byte that
// matches sets the top bit of its place, and the lowest set bit is correct.
func plainEnd(text []byte, at int) int {
	const each = 0x0101010101010101
	for ; at+8 <= len(text); at += 8 {
		w := binary.LittleEndian.Uint64(text[at:])
		if found := ((w - ' '*each) | ((w ^ '"'*each) - each) | ((w ^ '\\'*each) - each)) &^ w & (0x80 * each); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(text) && text[at] >= ' ' && text[at] != '"' && text[at] != '\\' {
		at++
	}
	return at
}

// escapeLen returns the length of the escape at the start of text, 0 for a wrong escape.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, c := range text[2:6] {
			if (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// literal skips true, false or null.
func (c *Cursor) literal(word string) bool {
	c.at += len(word)
	return c.at <= len(c.text) && string(c.text[c.at-len(word):c.at]) == word
}

// number skips a number.
func (c *Cursor) number() bool {
	if c.Next() == '-' {
		c.at++
	}
	if c.Next() == '0' {
		c.at++
	} else if !c.digits() {
		return false
	}
	if c.Next() == '.' {
		if c.at++; !c.digits() {
			return false
		}
	}
	if next := c.Next(); next != 'e' && next != 'E' {
		return true
	}
	c.at++
	if next := c.Next(); next == '+' || next == '-' {
		c.at++
	}
	return c.digits()
}

// digits skips one or more digits.
func (c *Cursor) digits() bool {
	from := c.at
	for '0' <= c.Next() && c.Next() <= '9' {
		c.at++
	}
	return c.at > from
}
