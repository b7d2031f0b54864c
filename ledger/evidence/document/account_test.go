package document

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestPlainTexts: a text of an account has no control, no mark of direction, and is bounded.
func TestPlainTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "n")
		text := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\u202egnp", "\x1b[31m\x00", "\u2028", "\xff\xfe", "a\u200bb"}).Draw(t, "more")
		got := plain(text, n)
		if len([]rune(got)) > n || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 }) {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
