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

// A text is bytes as somebody may read them: as they came, or decoded. It knows
// for every byte where that one came from.
type text struct {
	bytes []byte
	// cuts says where decoding changed lengths: from at on, byte i came from
	// i - at + from. Without cuts every byte stands where it came from.
	cuts  []cut
	outer *text // what it was decoded from; nil for bytes as they came
}

type cut struct{ at, from int }

// origin returns where in the bytes as they came byte i of t began.
func (t *text) origin(i int) int {
	for ; t.outer != nil; t = t.outer {
		if n := sort.Search(len(t.cuts), func(n int) bool { return t.cuts[n].at > i }); n > 0 {
			i += t.cuts[n-1].from - t.cuts[n-1].at
		}
	}
	return i
}

// A decoding reads one escape at the start of b: what it stands for, appended to
// dst, and its length; 0 where there is none.
type decoding struct {
	mark   byte
	escape func(dst, b []byte) ([]byte, int)
}

var (
	backslash = decoding{'\\', decodeBackslash}
	percent   = decoding{'%', decodePercent}
)

// decode takes the escapes off, and returns nil where there are none. It takes
// malformed text as it comes: what is refused is kept, and read by people.
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

// decodeBackslash reads the escapes of JSON; a backslash before anything else
// stands for that, as in a quoted header.
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

// binaryData finds the member of a structured event that has its data in base64.
var binaryData = regexp.MustCompile(`"data_base64"\s*:\s*"([A-Za-z0-9+/_=\r\n-]*)"`)

// binaryMember is in whatever binaryData finds, and is looked for in a tenth of
// the time.
var binaryMember = []byte(`"data_base64"`)

// eachPayload calls visit for a payload as it came and with the escapes of JSON
// taken off, up to three layers deep: a value may stand in JSON text that is
// within a string. Where it is a structured event with data in base64, that data
// is visited like a payload; where says for these which bytes of the payload
// they came from as a whole.
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

// eachWord calls visit for a subject, or the name or value of a header, as it
// came and as it is read: percent-encoded, quoted, or both.
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

// decodeBase64 reads either alphabet, padded or not, as far as it goes.
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
