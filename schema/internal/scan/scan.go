// Package scan finds the end of plain text in a string, eight bytes at a time.
package scan

import "math/bits"

// The functions below scan eight bytes of text at a time. Most text is plain ASCII, and one test
// per word is faster than eight tests per byte.
//
// A byte that matches sets the top bit of its place. The tests are w for bytes outside ASCII,
// w - ' ' for control characters, (w ^ c) - 1 for c, and w + 1 for DEL. Borrows and carries reach
// only the places above a match. The lowest set bit is therefore correct.

const (
	eachByte   = 0x0101010101010101
	topBits    = 0x80 * eachByte
	spaces     = ' ' * eachByte
	quotes     = '"' * eachByte
	backslashs = '\\' * eachByte
)

// word loads the eight bytes of s that start at the offset at.
func word(s string, at int) uint64 {
	s = s[at : at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// PlainEnd returns the offset of the next quote, backslash, control character or byte outside
// ASCII. The search starts at the given offset.
func PlainEnd(s string, at int) int {
	for ; at <= len(s)-8; at += 8 {
		w := word(s, at)
		if found := (w | (w - spaces) | ((w ^ quotes) - eachByte) | ((w ^ backslashs) - eachByte)) & topBits; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(s) && s[at] >= ' ' && s[at] < 0x80 && s[at] != '"' && s[at] != '\\' {
		at++
	}
	return at
}

// PrintablePrefix returns the length of the printable ASCII prefix of s.
func PrintablePrefix(s string) int {
	at := 0
	for ; at <= len(s)-8; at += 8 {
		w := word(s, at)
		if found := (w | (w - spaces) | (w + eachByte)) & topBits; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(s) && s[at] >= ' ' && s[at] < 0x7f {
		at++
	}
	return at
}
