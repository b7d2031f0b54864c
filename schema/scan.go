package schema

import "math/bits"

// Eight bytes of text at a time: most of what is scanned is plain ASCII, and
// asking one question of a word is several times faster than eight of a byte.
//
// A byte that is looked for sets the top bit of its place: w itself for what
// is not ASCII, w - ' ' for control characters, (w ^ c) - 1 for c, w + 1 for
// DEL. Borrows and carries reach only the places above a byte that is found,
// so the lowest bit set is right.

const (
	eachByte   = 0x0101010101010101
	topBits    = 0x80 * eachByte
	spaces     = ' ' * eachByte
	quotes     = '"' * eachByte
	backslashs = '\\' * eachByte
)

// word loads the eight bytes of s from at on.
func word(s string, at int) uint64 {
	s = s[at : at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plainEnd returns the first place from at on that holds a byte which does not
// stand for itself in a JSON string: a quote, a backslash, a control character
// or what is not ASCII.
func plainEnd(s string, at int) int {
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

// printablePrefix returns the length of the start of s that is printable
// ASCII.
func printablePrefix(s string) int {
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
