package leak

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is bytes as received or as decoded. A text knows the origin of every byte.
type text struct {
	bytes []byte
	// cuts lists the places where decoding changed lengths. From at on, byte i came from i - at
	// + from. Without cuts every byte is at its origin.
	cuts  []cut
	outer *text // the text before decoding; nil for bytes as received
}

type cut struct{ at, from int }

// origin returns the place of byte i of t in the received bytes.
func (t *text) origin(i int) int {
	for ; t.outer != nil; t = t.outer {
		if n := sort.Search(len(t.cuts), func(n int) bool { return t.cuts[n].at > i }); n > 0 {
			i += t.cuts[n-1].from - t.cuts[n-1].at
		}
	}
	return i
}

// A decoding reads one escape at the start of b. The decoding returns dst with the decoded
// bytes, and the length of the escape, or 0 without an escape.
type decoding struct {
	mark   byte
	escape func(dst, b []byte) ([]byte, int)
}

var (
	backslash = decoding{'\\', decodeBackslash}
	percent   = decoding{'%', decodePercent}
)

// decode removes the escapes, and returns nil for text without escapes. decode accepts
// malformed text, because refused messages are kept and read by people.
func (t *text) decode(d decoding) *text {
	if bytes.IndexByte(t.bytes, d.mark) < 0 {
		return nil
	}
	out := &text{bytes: make([]byte, 0, len(t.bytes)), outer: t}
	rest := t.bytes
	for {
		next := bytes.IndexByte(rest, d.mark)
		if next < 0 {
			out.bytes = append(out.bytes, rest...)
			return out
		}
		out.bytes = append(out.bytes, rest[:next]...)
		rest = rest[next:]
		at, from := len(out.bytes), len(t.bytes)-len(rest)
		decoded, n := d.escape(out.bytes, rest)
		if n == 0 {
			decoded, n = append(out.bytes, d.mark), 1
		} else {
			out.cuts = append(out.cuts, cut{at, from}, cut{len(decoded), from + n})
		}
		out.bytes, rest = decoded, rest[n:]
	}
}

// decodeBackslash reads the escapes of JSON. A backslash before another character gives that
// character, as in a quoted header.
func decodeBackslash(dst, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return dst, 0
	}
	const named, meant = "bfnrt", "\b\f\n\r\t"
	if b[1] == 'u' {
		r, ok := hex4(b)
		if !ok {
			return append(dst, 'u'), 2
		}
		if low, ok := hex4(b[6:]); ok && utf16.IsSurrogate(r) {
			if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
				return utf8.AppendRune(dst, whole), 12
			}
		}
		return utf8.AppendRune(dst, r), 6
	}
	for i := range named {
		if b[1] == named[i] {
			return append(dst, meant[i]), 2
		}
	}
	return append(dst, b[1]), 2
}

// hex4 reads the digits of an escape such as \u00e9.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

func decodePercent(dst, b []byte) ([]byte, int) {
	if len(b) < 3 {
		return dst, 0
	}
	n, err := strconv.ParseUint(string(b[1:3]), 16, 8)
	if err != nil {
		return dst, 0
	}
	return append(dst, byte(n)), 3
}

// binaryData matches the base64 data of a structured event.
var binaryData = regexp.MustCompile(`"data_base64"\s*:\s*"([A-Za-z0-9+/_=\r\n-]*)"`)

// binaryMember is a part of every match of binaryData. A search for it is faster.
var binaryMember = []byte(`"data_base64"`)

// eachPayload calls visit for a payload as received, and with the escapes of JSON removed.
// Three layers are removed, because JSON text may be nested in strings. eachPayload also visits
// the base64 data of a structured event like a payload. For base64 data, whole is the stretch
// of the payload with the data.
func eachPayload(payload []byte, visit func(t *text, whole *span)) {
	eachLayer(&text{bytes: payload}, []decoding{backslash}, 3, func(t *text) {
		visit(t, nil)
		if t.outer != nil && t.outer.outer != nil || !bytes.Contains(t.bytes, binaryMember) {
			return
		}
		for _, at := range binaryData.FindAllSubmatchIndex(t.bytes, -1) {
			data := decodeBase64(t.bytes[at[2]:at[3]])
			whole := &span{start: t.origin(at[2]), end: t.origin(at[3])}
			eachLayer(&text{bytes: data}, []decoding{backslash}, 3, func(t *text) { visit(t, whole) })
		}
	})
}

// eachWord calls visit for a subject, or the name or value of a header. eachWord visits the word as
// received, and with percent encoding and quotes removed.
func eachWord(word []byte, visit func(t *text, whole *span)) {
	eachLayer(&text{bytes: word}, []decoding{percent, backslash}, 2, func(t *text) { visit(t, nil) })
}

func eachLayer(t *text, decodings []decoding, deep int, visit func(*text)) {
	visit(t)
	if deep == 0 {
		return
	}
	for _, d := range decodings {
		if inner := t.decode(d); inner != nil {
			eachLayer(inner, decodings, deep-1, visit)
		}
	}
}

// decodeBase64 reads both alphabets, with or without padding, up to the first error.
func decodeBase64(b []byte) []byte {
	plain := make([]byte, 0, len(b))
	for _, c := range b {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case '=':
			continue
		}
		plain = append(plain, c)
	}
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(plain)))
	n, _ := base64.RawStdEncoding.Decode(data, plain)
	return data[:n]
}
