package ui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellQuote returns s as one word of a POSIX shell. A control character or a byte that is
// no UTF-8 makes it a word of the form $'…', which bash, zsh and ksh read.
func ShellQuote(s string) string {
	const safe = "/._-+=:,@%^"
	plain := s != ""
	for _, r := range s {
		if !(r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune(safe, r)) {
			plain = false
		}
	}
	switch {
	case plain:
		return s
	case utf8.ValidString(s) && Safe(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}
