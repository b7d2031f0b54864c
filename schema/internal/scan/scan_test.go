package scan

import (
	"strings"
	"testing"
)

// TestPrefixes tests each byte at each place of a text that is slightly longer than two words.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 19 {
			for _, filler := range []string{"a", " ", "~", "!", "]", "#"} {
				s := strings.Repeat(filler, at) + string([]byte{byte(c)}) + "\"\\\x00\xff" + strings.Repeat(filler, 18-at)
				plain, printable := at, at
				if c >= ' ' && c < 0x80 && c != '"' && c != '\\' {
					plain++
				}
				if c >= ' ' && c < 0x7f {
					printable += 3
				}
				if got := PlainEnd(s, 0); got != plain {
					t.Fatalf("PlainEnd(%q, 0) = %d, want %d", s, got, plain)
				}
				if got := PlainEnd("\""+s, 1); got != plain+1 {
					t.Fatalf("PlainEnd(%q, 1) = %d, want %d", s, got, plain+1)
				}
				if got := PrintablePrefix(s); got != printable {
					t.Fatalf("PrintablePrefix(%q) = %d, want %d", s, got, printable)
				}
			}
		}
	}
	for n := range 20 {
		if s := strings.Repeat("x", n); PlainEnd(s, 0) != n || PrintablePrefix(s) != n {
			t.Errorf("%d plain bytes", n)
		}
	}
}
