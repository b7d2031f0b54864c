package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Form says in which disguise a value was found.
type Form string

// The forms that are found. A value may wear the last two on top of another.
const (
	Verbatim Form = "verbatim" // the bytes themselves
	Folded   Form = "folded"   // another case
	Hex      Form = "hex"      // either case, no separators
	Base64   Form = "base64"   // standard or URL alphabet, at any alignment
	Escaped  Form = "escaped"  // with backslash escapes, as in JSON inside of a string
	URL      Form = "url"      // percent-encoded, any of its bytes
	Number   Form = "number"   // a whole JSON number
)

// shortestEncoded is the length, in characters, from which base64 of a value is
// looked for. Shorter ones occur by chance: 4 characters about once in 16 MiB.
const shortestEncoded = 6

// pattern is one text to look for.
type pattern struct {
	text  string
	value int // index of the value
	form  Form
}

// patterns returns what to look for in case-folded text and in text as it is.
func patterns(value int, secret string) (folded, encoded []pattern) {
	folded = append(folded, pattern{fold(secret), value, Verbatim})
	if len(secret) >= shortestEncoded/2 {
		folded = append(folded, pattern{hex.EncodeToString([]byte(secret)), value, Hex})
	}
	for _, text := range base64Cores(secret) {
		if len(text) >= shortestEncoded {
			encoded = append(encoded, pattern{text, value, Base64})
		}
	}
	return folded, encoded
}

// base64Cores returns the characters that base64 of any text holding the secret
// must contain: for each of the three alignments those that depend on the secret
// alone, in both alphabets.
func base64Cores(secret string) []string {
	var out []string
	for shift := range 3 {
		std := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
		// The first character that owes nothing to the bytes in front, and the
		// last that owes nothing to those behind.
		from := (shift*8 + 5) / 6
		to := (shift + len(secret)) * 8 / 6
		if from >= to {
			continue
		}
		core := std[from:to]
		out = append(out, core)
		if url := strings.NewReplacer("+", "-", "/", "_").Replace(core); url != core {
			out = append(out, url)
		}
	}
	return out
}

// fold maps a text to one case. Bytes that are not UTF-8 stay.
func fold(s string) string {
	v := foldView(view{text: s})
	return v.text
}

// foldRune returns the same rune for all that differ in case only.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least < utf8.RuneSelf {
		return foldRune(least)
	}
	return least
}
