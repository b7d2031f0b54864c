package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Form is the disguise in which a value was found.
type Form string

// The forms that are found. Escaped, URL and Entity may also be around another form.
const (
	Verbatim  Form = "verbatim"  // the bytes themselves
	Folded    Form = "folded"    // another case
	Separated Form = "separated" // another case, width, or other characters between the letters
	Reversed  Form = "reversed"  // backwards
	Hex       Form = "hex"       // either case, with any separators
	Base32    Form = "base32"    // at any alignment, with any separators
	Base64    Form = "base64"    // standard or URL alphabet, at any alignment, with any separators
	Escaped   Form = "escaped"   // with backslash escapes, as in JSON inside of a string
	URL       Form = "url"       // percent-encoded, any of its bytes
	Entity    Form = "entity"    // with character references of HTML
	Number    Form = "number"    // a whole JSON number
	Split     Form = "split"     // over strings that follow one another in a document
)

// shortestEncoded is the smallest length, in characters, of the base64 that is searched
// for. Shorter texts occur by chance.
const shortestEncoded = 6

// shortestSqueezed is the smallest length of a value that is searched for in squeezed text,
// in bytes without separators. Shorter values occur there by chance.
const shortestSqueezed = 8

// pattern is one text to search for.
type pattern struct {
	text  string
	value int // index of the value
	form  Form
}

// patterns holds the texts to search for, by the form of the searched text.
type patterns struct {
	folded   []pattern // for text in one case
	encoded  []pattern // for unchanged text
	squeezed []pattern // for letters and digits only
}

// and returns the patterns with the patterns of one more value. p does not change.
func (p patterns) and(value int, secret string) patterns {
	p.folded = append(p.folded, pattern{fold(secret), value, Verbatim})
	if !utf8.ValidString(secret) { // another case of a character has other bytes
		p.encoded = append(p.encoded, pattern{secret, value, Verbatim})
	}
	if len(secret) >= shortestEncoded/2 {
		p.folded = append(p.folded, pattern{hex.EncodeToString([]byte(secret)), value, Hex})
	}
	for _, text := range base64Cores(secret) {
		if len(text) >= shortestEncoded {
			p.encoded = append(p.encoded, pattern{text, value, Base64})
		}
	}
	if utf8.ValidString(secret) && len(thin(secret)) >= shortestSqueezed {
		p.squeezed = append(p.squeezed, squeezedPatterns(value, secret)...)
	}
	return p
}

// squeezedPatterns returns the forms of a value in squeezed text.
func squeezedPatterns(value int, secret string) []pattern {
	var out []pattern
	seen := make(map[string]bool)
	add := func(text string, form Form) {
		if text = string(thin(text)); len(text) >= shortestSqueezed && !seen[text] {
			seen[text] = true
			out = append(out, pattern{text, value, form})
		}
	}
	add(secret, Separated)
	add(backwards(secret), Reversed)
	for _, s := range [...]string{secret, strings.ToLower(secret), strings.ToUpper(secret)} {
		add(hex.EncodeToString([]byte(s)), Hex)
		for _, text := range base64Cores(s) {
			add(text, Base64)
		}
		for _, text := range base32Cores(s) {
			add(text, Base32)
		}
	}
	return out
}

// sieve returns the sieve of all patterns. If a text holds a pattern, its squeezed form
// holds the squeezed pattern.
func (p patterns) sieve() *sieve {
	var all [][]byte
	for _, one := range slices.Concat(p.folded, p.encoded) {
		text := one.text
		if !utf8.ValidString(text) { // a match may begin inside of a rune
			text = longestASCII(text)
		}
		all = append(all, thin(text))
	}
	for _, one := range p.squeezed {
		all = append(all, []byte(one.text))
	}
	return newSieve(all)
}

func longestASCII(s string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

func backwards(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// base32Cores is base64Cores for base32, which has five alignments.
func base32Cores(secret string) []string {
	var out []string
	for shift := range 5 {
		text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
		from, to := (shift*8+4)/5, (shift+len(secret))*8/5
		if from < to {
			out = append(out, text[from:to])
		}
	}
	return out
}

// base64Cores returns characters that the base64 of any text with the secret must contain.
// For each of the three alignments, these characters depend only on the secret. The result
// includes both alphabets.
func base64Cores(secret string) []string {
	var out []string
	buffer := append([]byte{0, 0}, secret...)
	for shift := range 3 {
		std := base64.RawStdEncoding.EncodeToString(buffer[2-shift:])
		// The first and the last character that depend on no other bytes than the secret's.
		from := (shift*8 + 5) / 6
		to := (shift + len(secret)) * 8 / 6
		if from >= to {
			continue
		}
		core := std[from:to]
		out = append(out, core)
		if strings.ContainsAny(core, "+/") {
			out = append(out, strings.NewReplacer("+", "-", "/", "_").Replace(core))
		}
	}
	return out
}

// fold maps a text to one case. Bytes that are not UTF-8 stay unchanged.
func fold(s string) string {
	v := foldView(view{text: s})
	return v.text
}

// foldRune returns the same rune for all runes that differ only in case.
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
