package schema

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A memberScan is where a walk of a [boundary] has come to. The walk visits the
// members of JSON text at every depth, in the order of the text. The text must be valid, which whoever decoded it has seen to;
// that makes the walk one pass over the bytes without a token or an
// allocation. It keeps no more than MaxDepth frames and recurses nowhere.
type memberScan struct {
	data   []byte
	depth  int
	frames [MaxDepth]frame
}

// A frame is one object or array that is open.
type frame struct {
	from, to uint32 // of the last member's name, within its quotes
	index    uint32 // of the current element of an array
	object   bool
	free     bool
}

// A member is one name and value of an object. Both alias the text.
type member struct {
	name  []byte // without escapes
	value []byte // starts with the value and runs on to the end of the text
	depth int    // 1 at the top level
	free  bool   // whether it is below a free member
}

// walk visits every member and reports whether the text nests within MaxDepth;
// it ends at what is too deep.
func (b *boundary) walk() bool {
	s := &b.scan
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
			end := StringEnd(s.data, i)
			if s.depth > 0 && s.frames[s.depth-1].object {
				end = b.member(i+1, end)
			}
			i = end
		}
	}
	return true
}

// member visits the member whose name stands at data[from:to] and returns the
// offset of the last byte that is dealt with.
func (b *boundary) member(from, to int) int {
	s := &b.scan
	at := to + 1
	for s.data[at] != ':' {
		at++
	}
	for at++; s.data[at] <= ' '; at++ {
	}
	top := &s.frames[s.depth-1]
	top.from, top.to = uint32(from), uint32(to)
	inherited := s.depth > 1 && s.frames[s.depth-2].free
	m := member{name: Unquoted(s.data[from-1 : to+1]), value: s.data[at:], depth: s.depth, free: inherited}
	top.free = b.visit(m) || inherited
	if s.data[at] == '"' {
		return StringEnd(s.data, at)
	}
	return at - 1
}

// stringEnd returns the offset of the quote that closes the string at start.
func StringEnd(data []byte, start int) int {
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
			b.WriteString(pointerToken(Clip(string(Unquoted(s.data[f.from-1 : f.to+1])))))
		} else {
			b.WriteString(strconv.Itoa(int(f.index)))
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
func (m member) text() ([]byte, bool) {
	if m.value[0] != '"' {
		return nil, false
	}
	return Unquoted(m.value[:StringEnd(m.value, 0)+1]), true
}

// unquoted returns the text of a valid JSON string, which it aliases where
// there are no escapes.
func Unquoted(raw []byte) []byte {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return text
}

// says reports whether the member's value asserts anything: null and false
// do not.
func (m member) says() bool { return m.value[0] != 'n' && m.value[0] != 'f' }
