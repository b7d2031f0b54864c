// Package form checks the forms of texts that standards define: URIs (RFC 3986), times (RFC 3339),
// hexadecimal digits and Unicode.
package form

import (
	"strings"
	"unicode"
)

// NonCharacter reports whether r is one of the 66 code points that are no characters.
func NonCharacter(r rune) bool { return r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef }

// uriMarks are the characters of a URI besides letters and digits (RFC 3986, section 2).
const uriMarks = "-._~:/?#[]@!$&'()*+,;=%"

// URIReference reports whether s has the characters and the percent-encoding of a URI-reference. A
// name before the first colon must be a scheme.
func URIReference(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])), strings.IndexByte(uriMarks, c) < 0:
			return false
		}
	}
	first, _, _ := strings.Cut(s, "/")
	first, _, _ = strings.Cut(first, "?")
	first, _, _ = strings.Cut(first, "#")
	scheme, _, hasColon := strings.Cut(first, ":")
	return strings.Count(s, "#") <= 1 && (!hasColon || Scheme(scheme))
}

func Scheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// LowerHex reports whether s has n lower-case hexadecimal digits.
func LowerHex(s string, n int) bool {
	for i := range len(s) {
		if !lowerHex[s[i]] {
			return false
		}
	}
	return len(s) == n
}

// lowerHex replaces a branch for each digit. A processor cannot predict the branches of a digest.
var lowerHex = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()

// Blank reports whether a text has nothing to read: only white space, and characters without width.
func Blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp) && r != '\u115f' && r != '\u1160' && r != '\u3164' && r != '\uffa0' && r != '\u2800'
	}) < 0
}

// RFC3339 reports whether a text that package time reads has the exact form in upper case.
func RFC3339(s string) bool {
	const clock = "2006-01-02T15:04:05"
	if len(s) <= len(clock) || strings.Trim(s[len(clock):], "0123456789.+-:Z") != "" || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return false
	}
	rest := s[len(clock):]
	if rest[0] == '.' {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	return rest == "Z" || len(rest) == len("+01:00") && (rest[0] == '+' || rest[0] == '-') && rest[1:3] <= "23" && rest[3] == ':' && rest[4:6] <= "59"
}
