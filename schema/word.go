package schema

import "math/bits"

// Eight bytes of text at a time: most of what is scanned is plain ASCII, and
// asking one question of a word is several times faster than eight of a byte.

const (
	eachByte = 0x0101010101010101
	topBits  = 0x80 * eachByte
)

// word loads the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// below sets the top bit of the first byte of w that is below c, which must be
// ASCII. Bits above the first one mean nothing.
func below(w uint64, c byte) uint64 { return (w - uint64(c)*eachByte) & ^w & topBits }

// plainPrefix returns the length of the start of s that stands for itself in a
// JSON string: ASCII without control characters, quotes and backslashes.
func plainPrefix(s string) int {
	n := 0
	for ; n+8 <= len(s); n += 8 {
		w := word(s[n:])
		special := w&topBits | below(w, ' ') | below(w^'"'*eachByte, 1) | below(w^'\\'*eachByte, 1)
		if special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] < 0x80 && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// printablePrefix returns the length of the start of s that is printable
// ASCII.
func printablePrefix(s string) int {
	n := 0
	for ; n+8 <= len(s); n += 8 {
		w := word(s[n:])
		special := w&topBits | below(w, ' ') | below(w^0x7f*eachByte, 1)
		if special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] < 0x7f {
		n++
	}
	return n
}
