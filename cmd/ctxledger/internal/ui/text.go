package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Thousands writes n with commas: 12,345.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Known is Thousands, and a question mark for a number that is not known.
func Known(n *int64) string {
	if n == nil {
		return "?"
	}
	return Thousands(*n)
}

// Plural counts things: 1 block, 2 blocks.
func Plural[N int | int64 | uint64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(int64(n)) + " " + one + "s"
}

// Shorten cuts s to n characters, with an ellipsis for the last of them where
// something is lost. Line breaks and other controls become spaces, so that a text
// of someone else's cannot steer the terminal.
func Shorten(s string, n int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s))
	switch {
	case len(runes) <= n:
		return string(runes)
	case n < 1:
		return ""
	}
	return string(runes[:n-1]) + "…"
}

// Wrap breaks text at spaces into lines of at most width characters. Each but the
// first begins with the indent; the first one stands behind start characters that
// are on its line already. A word that is longer than a line stands on its own.
func Wrap(text string, width, start int, indent string) string {
	var b strings.Builder
	used := start
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
