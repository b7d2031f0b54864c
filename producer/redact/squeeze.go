package redact

import (
	"unicode"
	"unicode/utf8"
)

// Squeezed text has one case, one width, and only letters and digits. "S-k_1" and "ｓｋ１" are
// both "sk1". If a text holds a value in any case and with any separators, its squeezed
// text holds the squeezed value. Encodings of the value are found in the same way.

// A traits value describes the squeezing of an ASCII byte: its one case, and whether the
// byte stays. Other bytes need their whole rune.
type traits uint16

const (
	stays  traits = 1 << 8  // the low bits are the byte in one case
	layers traits = 1 << 9  // may begin an encoded character, or is not ASCII
	quote  traits = 1 << 10 // ends a string in JSON
)

var traitsOf = func() (table [256]traits) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf || c == '\\' || c == '%' || c == '&':
			table[c] = layers
		case c == '"':
			table[c] = quote
		case '0' <= c && c <= '9' || 'a' <= c && c <= 'z':
			table[c] = stays | traits(c)
		case 'A' <= c && c <= 'Z':
			table[c] = stays | traits(c+'a'-'A')
		}
	}
	return table
}()

// squeezed is a squeezed text. Byte i comes from the rune at at[i].
type squeezed struct {
	text []byte
	at   []int32
}

func squeeze(text string) squeezed {
	s := squeezed{text: make([]byte, 0, len(text)), at: make([]int32, 0, len(text))}
	for i, n := 0, 0; i < len(text); i += n {
		before := len(s.text)
		s.text, n = appendSqueezed(s.text, text[i:])
		for range len(s.text) - before {
			s.at = append(s.at, int32(i))
		}
	}
	return s
}

// thin is squeeze without the places of the bytes.
func thin(text string) []byte {
	out := make([]byte, 0, len(text))
	for n := 0; len(text) > 0; text = text[n:] {
		out, n = appendSqueezed(out, text)
	}
	return out
}

// span returns the bytes of the text from which the squeezed bytes from start to end come.
func (s squeezed) span(text string, start, end int) (from, to int) {
	last := int(s.at[end-1])
	_, n := utf8.DecodeRuneInString(text[last:])
	return int(s.at[start]), last + n
}

// appendSqueezed appends the squeezed form of the first rune of text and returns the rune's
// length.
func appendSqueezed[T string | []byte](to []byte, text T) ([]byte, int) {
	if t := traitsOf[text[0]]; text[0] < utf8.RuneSelf {
		if t&stays != 0 {
			to = append(to, byte(t))
		}
		return to, 1
	}
	r, n := utf8.DecodeRuneInString(string(text[:min(len(text), utf8.UTFMax)]))
	if r == utf8.RuneError && n <= 1 {
		return to, 1
	}
	if wideFirst <= r && r <= wideLast {
		r += '!' - wideFirst
	}
	if r = foldRune(r); r < utf8.RuneSelf {
		if t := traitsOf[r]; t&stays != 0 {
			to = append(to, byte(t))
		}
	} else if unicode.IsLetter(r) || unicode.IsNumber(r) {
		to = utf8.AppendRune(to, r)
	}
	return to, n
}

// The full-width forms of ASCII from "!" to "~".
const wideFirst, wideLast = '\uff01', '\uff5e'
