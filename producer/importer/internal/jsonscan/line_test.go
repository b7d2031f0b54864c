package jsonscan

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// lined maps lines to whether they are accepted.
var lined = map[string]bool{
	`{}`: true, "{ \"a\" :\t1 , \"b\":[ ] }": true, `{"a":[1,-2.5e3,0,-0.1E+9,true,false,null,"]",{"b":["}"]}],"c":[[],[[]],{}]}`: true,
	`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud800","b":"é"}`: true, `{"12345678":1,"123456789":2,"1234567":3,"":4}`: true, `{"a":{"a":1},"b":{"a":2}}`: true,
	`{"a":1,"a":2}`: false, `{"b":[{"a":1,"c":2,"a":2}]}`: false, `{"cache_read_input_tokens":1,"cache_read_input_tokens":2}`: false,
	`{"\u0061":1}`: true, `{"a":01}`: false, `{"a":1.}`: false, `{"a":-}`: false, `{"a":1e}`: false, `{"a":+1}`: false, `{"a":tru}`: false,
	`{"a":"\x"}`: false, `{"a":"\u00g0"}`: false, "{\"a\":\"\x1f\"}": false, "{\"a\x00\":1}": false, `{"a":"b}`: false, `{"a"`: false, `{"a":"\`: false, `{"a":"\u12`: false,
	`{"a":1,}`: false, `{,"a":1}`: false, `{"a":[1,]}`: false, `{"a":[,1]}`: false, `{"a" 1}`: false, `{"a":1 "b":2}`: false, `{"a":[1 2]}`: false, `{"a":1]`: false, `{a:1}`: false,
	`{} {}`: false, `[]`: false, `null`: false, ``: false,
	`{"a":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: false,
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	for text, want := range lined {
		if got := ReadLine([]byte(text), func(c *Cursor) bool { return c.Members(func([]byte) bool { return c.Skip() }) }); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzReadLine: an accepted line gives the same values as the decoder. The decoder reads the
// other lines.
func FuzzReadLine(f *testing.F) {
	for text := range lined {
		f.Add([]byte(text))
	}
	for _, text := range cursed {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		text = bytes.TrimSpace(text)
		got, want := make(map[string]Span), make(map[string]Span)
		if ReadLine(text, func(c *Cursor) bool {
			return c.Members(func(name []byte) bool {
				value := c.Value()
				got[string(name)] = value
				return value != nil
			})
		}) {
			if err := json.Unmarshal(text, &want, Lenient); err != nil {
				t.Fatalf("%s: read, and %v", text, err)
			}
			if !maps.EqualFunc(got, want, func(a, b Span) bool { return string(a) == string(b) }) {
				t.Fatalf("%s: %q, want %q", text, got, want)
			}
		}
	})
}
