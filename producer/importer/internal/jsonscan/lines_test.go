package jsonscan

import (
	"bytes"
	"maps"
	"strconv"
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
	`{"a":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + `}`:   true,
	`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`: false,
	`{"a":{"b":1},"b":2,"c":[{"a":1},{"a":2}]}`:                               true, `{"a":{"b":1},"a":2}`: false,
	`{"a":1,"\u0061":2}`: false, `{"\ud800":1,"\ud801":2}`: false, `{"\`: false, `{"a":"\ud800`: false, `{"a":-0.0e-1}`: true, `{"a":1e+}`: false, `{"a":--1}`: false,
	"{\"a\":\"12345678\x1f\"}": false, "{\"a\":\"éééé\x7f\"}": true, `{"a":1}x`: false, `{"a":nul`: false, `{"a":nulx}`: false, `{"a":[`: false, `{"a":[1`: false,
	`{"a":` + strings.Repeat("[", 9_999) + "{}" + strings.Repeat("]", 9_999) + `}`: false,
	`{"a":[` + strings.Repeat(`{"a":1},`, 300) + `{}]}`:                            true, `{"a":[1 23]}`: false, `{"a":1 2"b":2}`: false, "{\"a\":\"\x1f23456789abc\"}": false,
	"{" + someNames(256) + "}": true, "{" + someNames(257) + "}": false, "{" + someNames(100) + `,"7":1}`: false,
}

// someNames are members with different names.
func someNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Quote(strconv.Itoa(i)) + ":0"
	}
	return strings.Join(names, ",")
}

// TestLines: a line is accepted or not, whatever lines came before it. Lines leaves lines with
// more than 256 names to the strict decoder.
func TestLines(t *testing.T) {
	t.Parallel()
	var lines Lines
	for pass := range 2 {
		for text, want := range lined {
			if got := lines.Read([]byte(text), func(c *Cursor) bool { return c.Members(func([]byte) bool { return c.Skip() }) }); got != want {
				t.Errorf("pass %d: %s: %v", pass+1, text, got)
			}
		}
		if text := "{\"a\":\"\xff\"}"; lines.Read([]byte(text), func(c *Cursor) bool { return c.Skip() }) {
			t.Errorf("pass %d: %q is read", pass+1, text)
		}
	}
}

// TestLinesText: a text is the same whether an earlier line had it, had another one in its place,
// or had none.
func TestLinesText(t *testing.T) {
	t.Parallel()
	var lines Lines
	long := strings.Repeat("x", maxWordBytes+1)
	for _, want := range []string{"ab", "ab", "", "axb", "ayb", "axb", "é", "a\\nb", "a\\nb", long, long + "y", "null"} {
		text, wanted := `{"a":"`+want+`"}`, strings.ReplaceAll(want, `\n`, "\n")
		if want == "null" {
			text, wanted = `{"a":null}`, ""
		}
		got := "another text"
		if !lines.Read([]byte(text), func(c *Cursor) bool { return c.Members(func([]byte) bool { return c.Text(&got) }) }) || got != wanted {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// FuzzLines: an accepted line gives the same values as the decoder. The decoder reads the
// other lines.
func FuzzLines(f *testing.F) {
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
		if new(Lines).Read(text, func(c *Cursor) bool {
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
