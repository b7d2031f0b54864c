package producer

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// A reader extracts all readable text from the bytes of a message: every string, and all
// strings in a row. The text is also decoded, reversed, in one case and without separators.
// The reader shares no code with the guard.
type reader struct {
	byHead map[string][]int // secrets in their read form, by their first bytes
	plain  []string
}

const readHead = 8

func newReader(secrets []string) *reader {
	r := &reader{byHead: make(map[string][]int)}
	for i, s := range secrets {
		s = bare(s)
		r.plain = append(r.plain, s)
		r.byHead[s[:readHead]] = append(r.byHead[s[:readHead]], i)
	}
	return r
}

// bare returns a text in one case and width, with only letters and digits.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if '\uff01' <= r && r <= '\uff5e' {
			r += '!' - '\uff01'
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// finds returns the secrets that can be read in a JSON document or a text.
func (r *reader) finds(data []byte) []int {
	var found []int
	look := func(s string) {
		s = bare(s)
		for at := 0; at+readHead <= len(s); at++ {
			for _, i := range r.byHead[s[at:at+readHead]] {
				if strings.HasPrefix(s[at:], r.plain[i]) && !slices.Contains(found, i) {
					found = append(found, i)
				}
			}
		}
	}
	var values strings.Builder
	all := []string{string(data)}
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() != '"' {
			continue
		}
		all = append(all, token.String())
		if parent, n := dec.StackIndex(dec.StackDepth()); parent != '{' || n%2 == 0 {
			values.WriteString(token.String() + " ")
		}
	}
	for _, s := range append(all, values.String()) {
		for _, s := range decodings(s) {
			look(s)
		}
	}
	return found
}

var (
	unicodeEscape = regexp.MustCompile(`\\u00[0-9a-fA-F]{2}`)
	hexRun        = regexp.MustCompile(`[0-9a-fA-F]{16,}`)
	base64Run     = regexp.MustCompile(`[0-9a-zA-Z+/_-]{11,}`)
	base32Run     = regexp.MustCompile(`[A-Z2-7]{13,}`)
	white         = strings.NewReplacer("\r", "", "\n", "", " ", "", ":", "")
)

// decodings returns the readings of a text. After a layer is decoded, the result is read
// again.
func decodings(s string) []string {
	out := []string{s}
	for i := 0; i < len(out) && len(out) < 200; i++ {
		layers := []string{html.UnescapeString(out[i]), unicodeEscape.ReplaceAllStringFunc(out[i], func(e string) string {
			b, _ := hex.DecodeString(e[4:])
			return string(b)
		})}
		if u, err := url.QueryUnescape(out[i]); err == nil {
			layers = append(layers, u)
		}
		for _, l := range layers {
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	for _, text := range slices.Clone(out) {
		runes := []rune(text)
		slices.Reverse(runes)
		out = append(out, string(runes))
		text = white.Replace(text)
		for _, run := range hexRun.FindAllString(text, -1) {
			for shift := range 2 {
				b, _ := hex.DecodeString(run[shift : len(run)-(len(run)-shift)%2])
				out = append(out, string(b))
			}
		}
		for _, run := range base64Run.FindAllString(text, -1) {
			run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
			for shift := range 4 {
				b, _ := base64.RawStdEncoding.DecodeString(run[shift : len(run)-(len(run)-shift)%4])
				tail, _ := base64.RawStdEncoding.DecodeString(run[shift:])
				out = append(out, string(b), string(tail))
			}
		}
		for _, run := range base32Run.FindAllString(text, -1) {
			for shift := range 8 {
				b, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(run[shift : len(run)-(len(run)-shift)%8])
				tail, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(run[shift:])
				out = append(out, string(b), string(tail))
			}
		}
	}
	return out
}
