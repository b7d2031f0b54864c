package redact

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// sieve detects most texts without hits in one pass and without allocating. The sieve
// squeezes the text and searches for the squeezed patterns in all forms together. sieve
// looks up the last bytes of each pattern in a bit set and compares only after a match. If
// the result is not sure, the full search decides.
//
//	{"title":"Read a.go","note":"a b","tokens":12345678}
//	         └──────────────────┬─┘           └── compared unchanged
//	                      readagoab           the values of a document are one text,
//	                                          which also holds values that are split over two
type sieve struct {
	width  int      // window in bytes: the shortest pattern or windowLen; 0 disables the sieve
	maybe  []uint64 // bits, by a hash of the last bytes
	shift  int      // maps a hash to len(maybe)*64 bits
	byTail map[uint64][][]byte
}

const (
	windowLen   = 8
	bitsAPiece  = 32 // bits in the set for each pattern
	leastWindow = 2  // a shorter window matches everywhere
)

// newSieve makes a sieve of squeezed patterns.
func newSieve(patterns [][]byte) *sieve {
	s := &sieve{width: windowLen, byTail: make(map[uint64][][]byte, len(patterns))}
	for _, p := range patterns {
		s.width = min(s.width, len(p))
	}
	if s.width < leastWindow {
		return &sieve{}
	}
	size := max(16, bits.Len(uint(len(patterns)*bitsAPiece)))
	s.maybe, s.shift = make([]uint64, 1<<(size-6)), 64-size
	for _, p := range patterns {
		tail := s.window(append(make([]byte, windowLen), p...))
		s.byTail[tail] = append(s.byTail[tail], p)
		bit := hash(tail) >> s.shift
		s.maybe[bit/64] |= 1 << (bit % 64)
	}
	return s
}

// window reads the last bytes of a text of at least windowLen bytes.
func (s *sieve) window(text []byte) uint64 {
	return binary.LittleEndian.Uint64(text[len(text)-windowLen:]) >> (8 * (windowLen - s.width))
}

func hash(window uint64) uint64 { return window * 0x9E3779B97F4A7C15 }

// finds reports whether a pattern is in the text. The text begins with windowLen bytes that
// are in no pattern.
func (s *sieve) finds(text []byte) bool {
	drop := 8 * (windowLen - s.width) & 63
	shift, last := s.shift&63, uint64(len(s.maybe)-1)
	for rest := text[1:]; len(rest) >= windowLen; rest = rest[1:] {
		window := binary.LittleEndian.Uint64(rest) >> drop
		bit := hash(window) >> shift
		if s.maybe[bit>>6&last]&(1<<(bit&63)) == 0 {
			continue
		}
		for _, p := range s.byTail[window] {
			if bytes.HasSuffix(text[:len(text)-len(rest)+windowLen], p) {
				return true
			}
		}
	}
	return false
}

// sieving is the memory of one pass.
type sieving struct {
	held   *held
	values []byte // squeezed, after windowLen bytes of nothing
	names  []byte // names of members; also squeezed, with a byte between any two
	plain  []byte // a string without JSON's escapes
}

var sievings = sync.Pool{New: func() any { return new(sieving) }}

func startSieving(h *held, size int) *sieving {
	s := sievings.Get().(*sieving)
	s.held = h
	if cap(s.values) < size+2*windowLen {
		s.values = make([]byte, 0, size+size/4+2*windowLen)
	}
	s.values, s.names = append(s.values[:0], nothing[:]...), append(s.names[:0], nothing[:]...)
	return s
}

// nothing is a text that no pattern holds.
var nothing [windowLen]byte

// largestKept is the largest memory, in bytes, that a pass keeps for the next.
const largestKept = 1 << 20

func (s *sieving) done() {
	s.held = nil
	if cap(s.values) <= largestKept && cap(s.plain) <= largestKept {
		sievings.Put(s)
	}
}

// surelyClean reports whether a text certainly has no hits; false means "perhaps a hit".
func (h *held) surelyClean(text string) bool {
	if h.sieve.width == 0 {
		return false
	}
	s := startSieving(h, len(text))
	defer s.done()
	s.plain = append(s.plain[:0], text...)
	if s.text(s.plain) && h.find(text, false) != nil {
		return false
	}
	return !h.sieve.finds(s.values)
}

// surelyCleanJSON reports whether no string, name or number of a document has hits.
// Everything else must be punctuation, true, false or null.
func (h *held) surelyCleanJSON(doc []byte) bool {
	if h.sieve.width == 0 {
		return false
	}
	s := startSieving(h, len(doc))
	defer s.done()
	for at := 0; at < len(doc); {
		n := 1
		switch c := doc[at]; c {
		case '"':
			n = s.literal(doc[at:])
		case '{', '}', '[', ']', ',', ':', ' ', '\t', '\r', '\n':
		case 't', 'f', 'n':
			n = len(word(doc[at:]))
		default:
			n = s.number(doc[at:])
		}
		if n == 0 {
			return false
		}
		at += n
	}
	return !h.sieve.finds(s.values) && !h.sieve.finds(s.names)
}

var words = [...][]byte{[]byte("true"), []byte("false"), []byte("null")}

// word returns the JSON word that doc begins with.
func word(doc []byte) []byte {
	for _, w := range words {
		if bytes.HasPrefix(doc, w) {
			return w
		}
	}
	return nil
}

// number returns the length of the number at the start of doc. number returns 0 for text
// that is not a number and for a withheld number.
func (s *sieving) number(doc []byte) int {
	n := 0
	for n < len(doc) && numeric(doc[n]) {
		n++
	}
	if _, withheld := s.held.number(doc[:n]); withheld {
		return 0
	}
	return n
}

// literal adds the JSON string at the start of doc and returns its length with the quotes;
// 0 means "perhaps a hit".
func (s *sieving) literal(doc []byte) int {
	before := len(s.values)
	end := 1 + s.run(doc[1:], layers|quote)
	if end < len(doc) && doc[end] != '"' {
		if end = closingQuote(doc, end); end == 0 {
			return 0
		}
		s.values = s.values[:before]
		if s.escaped(doc[1:end]) && s.held.find(string(doc[1:end]), true) != nil {
			return 0
		}
	}
	if end >= len(doc) {
		return 0
	}
	next := end + 1
	for next < len(doc) && doc[next] <= ' ' {
		next++
	}
	if next < len(doc) && doc[next] == ':' {
		s.names = append(append(s.names, s.values[before:]...), 0)
		s.values = s.values[:before]
	}
	return end + 1
}

// run adds the bytes of text before the first byte with one of the traits, and returns
// their number.
func (s *sieving) run(text []byte, stop traits) int {
	s.values = slices.Grow(s.values, len(text)+1)
	to := s.values[len(s.values) : len(s.values)+len(text)+1]
	n, at := 0, 0
	for ; at < len(text); at++ {
		t := traitsOf[text[at]]
		if t&stop != 0 {
			break
		}
		to[n] = byte(t)
		n += int(t >> 8 & 1)
	}
	s.values = s.values[:len(s.values)+n]
	return at
}

// closingQuote returns the end of the string in which doc[at] is a byte or the start of an
// escape. closingQuote returns 0 without an end.
func closingQuote(doc []byte, at int) int {
	for ; at < len(doc); at++ {
		switch doc[at] {
		case '"':
			return at
		case '\\':
			at++
		}
	}
	return 0
}

// escaped adds the inside of a literal without its escapes. escaped reports whether other
// layers are below the escapes.
func (s *sieving) escaped(inside []byte) bool {
	s.plain = s.plain[:0]
	for at := 0; at < len(inside); {
		next := bytes.IndexByte(inside[at:], '\\')
		if next < 0 {
			s.plain = append(s.plain, inside[at:]...)
			break
		}
		s.plain = append(s.plain, inside[at:at+next]...)
		at += next
		to, n := appendEscape(s.plain, inside[at:])
		if n == 0 {
			to, n = append(to, inside[at]), 1
		}
		s.plain, at = to, at+n
	}
	return s.text(s.plain)
}

// text adds a text. text reports whether layers of encoding can be decoded, because then
// the full search is also needed.
func (s *sieving) text(text []byte) (layered bool) {
	for at := s.run(text, layers); at < len(text); at += s.run(text[at:], layers) {
		if text[at] < utf8.RuneSelf {
			layered = layered || startsLayer(text[at:])
			at++
			continue
		}
		var n int
		s.values, n = appendSqueezed(s.values, text[at:])
		at += n
	}
	return layered
}
