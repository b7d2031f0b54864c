package redact

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a reading of a text: the text itself, or the text with a layer of encoding
// decoded. Byte i of the view comes from byte at[i] of the text. at has one element more
// than the view has bytes. A nil at is the identity.
type view struct {
	text string
	at   []int32
	form Form // last decoded layer; empty for the text itself
}

func (v view) source(i int) int {
	if v.at == nil {
		return i
	}
	return int(v.at[i])
}

// span returns the bytes of the text from which the view's bytes from start to end come. An
// encoded character stays whole.
func (v view) span(start, end int) (from, to int) {
	if v.at == nil {
		return start, end
	}
	last := v.at[end-1]
	for end < len(v.text) && v.at[end] == last {
		end++
	}
	return int(v.at[start]), int(v.at[end])
}

// depth is the largest number of encoding layers that are decoded.
const depth = 3

// views returns the readings of a text. For a JSON literal the first reading is the decoded
// literal, so no hit begins inside of an escape.
func (h *held) views(text string, literal bool) []view {
	out := []view{{text: text}}
	if literal {
		out[0] = literalView(text)
	}
	from := 0
	for range depth {
		to := len(out)
		for _, v := range out[from:to] {
			if next, ok := unescape(v); ok {
				out = append(out, next)
			}
			if next, ok := unpercent(v, false); ok {
				out = append(out, next)
			}
			if next, ok := unentity(v); ok {
				out = append(out, next)
			}
			if h.spaces && strings.Contains(v.text, "+") {
				if next, ok := unpercent(v, true); ok {
					out = append(out, next)
				}
			}
		}
		from = to
	}
	return out
}

// literalView returns the decoded inside of a JSON literal.
func literalView(inside string) view {
	v, ok := unescape(view{text: inside})
	if !ok {
		return view{text: inside}
	}
	v.form = ""
	return v
}

// rewriter builds a view from another one.
type rewriter struct {
	from view
	text []byte
	at   []int32
}

func newRewriter(v view) *rewriter {
	return &rewriter{from: v, text: make([]byte, 0, len(v.text)), at: make([]int32, 0, len(v.text)+1)}
}

// put appends bytes that come from position i of the view.
func (w *rewriter) put(i int, b ...byte) {
	for range b {
		w.at = append(w.at, int32(w.from.source(i)))
	}
	w.text = append(w.text, b...)
}

func (w *rewriter) done(form Form) view {
	w.at = append(w.at, int32(w.from.source(len(w.from.text))))
	return view{text: string(w.text), at: w.at, form: form}
}

// foldView maps the view to one case. Text that already has one case needs no copy.
func foldView(v view) view {
	i := 0
	for i < len(v.text) && v.text[i] < utf8.RuneSelf && !('A' <= v.text[i] && v.text[i] <= 'Z') {
		i++
	}
	if i == len(v.text) {
		return v
	}
	if ascii(v.text[i:]) {
		return view{text: strings.ToLower(v.text), at: v.at, form: v.form}
	}
	w := newRewriter(v)
	for i := 0; i < len(v.text); {
		r, n := utf8.DecodeRuneInString(v.text[i:])
		if r == utf8.RuneError && n <= 1 {
			w.put(i, v.text[i])
		} else {
			w.put(i, utf8.AppendRune(nil, foldRune(r))...)
		}
		i += n
	}
	return w.done(v.form)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unpercent decodes percent-encoding. If form is set, it also decodes "+" as a space.
// unpercent returns false if nothing was decoded.
func unpercent(v view, form bool) (view, bool) {
	if !strings.Contains(v.text, "%") && !form {
		return view{}, false
	}
	w, changed := newRewriter(v), false
	for i := 0; i < len(v.text); {
		c := v.text[i]
		if form && c == '+' {
			w.put(i, ' ')
			changed, i = true, i+1
			continue
		}
		if c == '%' {
			if b, ok := hexNumber(v.text[i+1:], 2); ok {
				w.put(i, byte(b))
				changed, i = true, i+3
				continue
			}
		}
		w.put(i, c)
		i++
	}
	return w.done(URL), changed
}

// unescape decodes backslash escapes: JSON's escapes and \xHH. unescape returns false if
// nothing was decoded.
func unescape(v view) (view, bool) {
	if !strings.Contains(v.text, `\`) {
		return view{}, false
	}
	w, changed := newRewriter(v), false
	var room [utf8.UTFMax]byte
	for i := 0; i < len(v.text); {
		decoded, n := appendEscape(room[:0], v.text[i:])
		if n == 0 {
			w.put(i, v.text[i])
			i++
			continue
		}
		w.put(i, decoded...)
		changed, i = true, i+n
	}
	return w.done(Escaped), changed
}

// appendEscape decodes the escape at the start of s and returns its length. appendEscape
// returns 0 if s starts with no escape.
func appendEscape[T string | []byte](to []byte, s T) ([]byte, int) {
	if len(s) < 2 || s[0] != '\\' {
		return to, 0
	}
	if k := strings.IndexByte(`"\/bfnrt'`, s[1]); k >= 0 {
		return append(to, "\"\\/\b\f\n\r\t'"[k]), 2
	}
	switch s[1] {
	case 'x':
		if b, ok := hexNumber(s[2:], 2); ok {
			return append(to, byte(b)), 4
		}
	case 'u':
		r, ok := hexNumber(s[2:], 4)
		if !ok {
			return to, 0
		}
		if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if low, ok := hexNumber(s[8:], 4); ok {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					return utf8.AppendRune(to, both), 12
				}
			}
		}
		return utf8.AppendRune(to, r), 6
	}
	return to, 0
}

// unentity decodes HTML's character references. unentity returns false if nothing was
// decoded.
func unentity(v view) (view, bool) {
	if !strings.Contains(v.text, "&") {
		return view{}, false
	}
	w, changed := newRewriter(v), false
	for i := 0; i < len(v.text); {
		decoded, n := entity(v.text[i:])
		if n == 0 {
			w.put(i, v.text[i])
			i++
			continue
		}
		w.put(i, []byte(decoded)...)
		changed, i = true, i+n
	}
	return w.done(Entity), changed
}

// longestEntity is the largest length in bytes, from "&" to ";".
const longestEntity = 12

// entity decodes the character reference at the start of s and returns its length. entity
// returns 0 if s starts with no reference.
func entity(s string) (decoded string, n int) {
	if s[0] != '&' {
		return "", 0
	}
	n = 1 + strings.IndexByte(s[:min(len(s), longestEntity)], ';')
	if n == 0 {
		return "", 0
	}
	if decoded = html.UnescapeString(s[:n]); decoded == s[:n] {
		return "", 0
	}
	return decoded, n
}

// startsLayer reports whether an encoding layer can be decoded at the start of text.
func startsLayer(text []byte) bool {
	switch text[0] {
	case '\\':
		var room [utf8.UTFMax]byte
		_, n := appendEscape(room[:0], text)
		return n > 0
	case '%':
		_, ok := hexNumber(text[1:], 2)
		return ok
	case '&':
		_, n := entity(string(text[:min(len(text), longestEntity)]))
		return n > 0
	}
	return false
}

// hexNumber reads exactly n hexadecimal digits from the start of s.
func hexNumber[T string | []byte](s T, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	var out rune
	for i := range n {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		out = out<<4 | rune(c)
	}
	return out, true
}
