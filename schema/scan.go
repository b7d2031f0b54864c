package schema

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A memberScan walks the members of JSON text at every depth, in the order of
// the text. The text must be valid, which whoever decoded it has seen to;
// that makes the walk one pass over the bytes without a token or an
// allocation. It keeps no more than MaxDepth frames and recurses nowhere.
type memberScan struct {
	data   []byte
	depth  int
	frames [MaxDepth]frame
	// visit is called for every member. Returning true marks what is below
	// the member as free, which frames inherit.
	visit func(s *memberScan, m member) (free bool)
	name  [64]byte // room for a name that had escapes
}

// A frame is one object or array that is open.
type frame struct {
	object   bool
	free     bool
	from, to int // of the last member's name, within its quotes
	index    int // of the current element of an array
}

// A member is one name and value of an object. Both alias the text.
type member struct {
	name  []byte // without escapes
	value []byte // starts with the value and runs on to the end of the text
	depth int    // 1 at the top level
	free  bool   // whether it is below a free member
}

// run walks the text and reports whether it nests within MaxDepth; what is
// too deep is not walked.
func (s *memberScan) run() bool {
	for i := 0; i < len(s.data); i++ {
		switch s.data[i] {
		case '{', '[':
			if s.depth == MaxDepth {
				return false
			}
			free := s.depth > 0 && s.frames[s.depth-1].free
			s.frames[s.depth] = frame{object: s.data[i] == '{', free: free}
			s.depth++
		case '}', ']':
			s.depth--
		case ',':
			s.frames[s.depth-1].index++
		case '"':
			end := stringEnd(s.data, i)
			if s.depth > 0 && s.frames[s.depth-1].object {
				end = s.member(i+1, end)
			}
			i = end
		}
	}
	return true
}

// member visits the member whose name stands at data[from:to] and returns the
// offset of the last byte that is dealt with.
func (s *memberScan) member(from, to int) int {
	at := to + 1
	for s.data[at] != ':' {
		at++
	}
	for at++; s.data[at] <= ' '; at++ {
	}
	top := &s.frames[s.depth-1]
	top.from, top.to = from, to
	inherited := s.depth > 1 && s.frames[s.depth-2].free
	m := member{name: s.data[from:to], value: s.data[at:], depth: s.depth, free: inherited}
	if bytes.IndexByte(m.name, '\\') >= 0 {
		m.name, _ = jsontext.AppendUnquote(s.name[:0], s.data[from-1:to+1])
	}
	top.free = s.visit(s, m) || inherited
	if s.data[at] == '"' {
		return stringEnd(s.data, at)
	}
	return at - 1
}

// stringEnd returns the offset of the quote that closes the string at start.
func stringEnd(data []byte, start int) int {
	for at := start + 1; ; at++ {
		at += bytes.IndexByte(data[at:], '"')
		escapes := 0
		for data[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// pointer returns the JSON Pointer of the member being visited, below /data.
func (s *memberScan) pointer() string {
	var b strings.Builder
	b.WriteString("/data")
	for i := range s.frames[:s.depth] {
		b.WriteByte('/')
		if f := &s.frames[i]; f.object {
			name, _ := jsontext.AppendUnquote(nil, s.data[f.from-1:f.to+1])
			b.WriteString(pointerToken(clip(string(name))))
		} else {
			b.WriteString(strconv.Itoa(f.index))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointerToken escapes one token of a JSON Pointer.
func pointerToken(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return pointerEscapes.Replace(s)
}

// text returns the string value of the member, and false where it is
// something else.
func (m member) text() (string, bool) {
	if m.value[0] != '"' {
		return "", false
	}
	raw := m.value[:stringEnd(m.value, 0)+1]
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// says reports whether the member's value asserts anything: null and false
// do not.
func (m member) says() bool { return m.value[0] != 'n' && m.value[0] != 'f' }
