package grant

import (
	"strings"
	"unicode"
)

// isSpace reports whether JavaScript, Python or Unicode defines r as white space. The set
// is Unicode's White_Space, JavaScript's U+FEFF and Python's U+001C to U+001F.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r == '\ufeff' || (r >= 0x1c && r <= 0x1f)
}

func trimSpace(s string) string { return strings.TrimFunc(s, isSpace) }
