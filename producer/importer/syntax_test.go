package importer

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lined are lines that are read without a decoder, and those about which it has to be
// asked.
var lined = map[string]bool{
	`{}`: true, "{ \"a\" :\t1 , \"b\":[ ] }": true, `{"a":[1,-2.5e3,0,-0.1E+9,true,false,null,"]",{"b":["}"]}],"c":[[],[[]],{}]}`: true,
	`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud800","b":"é"}`: true, `{"12345678":1,"123456789":2,"1234567":3,"":4}`: true, `{"a":{"a":1},"b":{"a":2}}`: true,

	`{"a":1,"a":2}`: false, `{"b":[{"a":1,"c":2,"a":2}]}`: false, `{"cache_read_input_tokens":1,"cache_read_input_tokens":2}`: false,
	`{"\u0061":1}`: false, `{"a":01}`: false, `{"a":1.}`: false, `{"a":-}`: false, `{"a":1e}`: false, `{"a":+1}`: false, `{"a":tru}`: false,
	`{"a":"\x"}`: false, `{"a":"\u00g0"}`: false, "{\"a\":\"\x1f\"}": false, "{\"a\x00\":1}": false, `{"a":"b}`: false, `{"a"`: false, `{"a":"\`: false, `{"a":"\u12`: false,
	`{"a":1,}`: false, `{,"a":1}`: false, `{"a":[1,]}`: false, `{"a":[,1]}`: false, `{"a" 1}`: false, `{"a":1 "b":2}`: false, `{"a":[1 2]}`: false, `{"a":1]`: false, `{a:1}`: false,
	`{} {}`: false, `[]`: false, `null`: false, ``: false,
	`{"a":` + strings.Repeat("[", syntaxDepth) + strings.Repeat("]", syntaxDepth) + `}`: false,
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	for text, want := range lined {
		if got := readLine([]byte(text), func(c *cursor) bool { return c.members(func([]byte) bool { return c.skip() }) }); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	many := `{`
	for n := range syntaxNames {
		many += `"` + strings.Repeat("n", n+1) + `":0,`
	}
	if !readLine([]byte(many[:len(many)-1]+`}`), (*cursor).skip) || readLine([]byte(many+`"last":0}`), (*cursor).skip) {
		t.Error("as many names as there is room for are read, and not one more")
	}
}

// FuzzReadLine: what is read without a decoder is what the decoder reads. For others it
// is asked.
func FuzzReadLine(f *testing.F) {
	for text := range lined {
		f.Add([]byte(text))
	}
	for _, text := range cursed {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"type":"user","uuid":"u","parentUuid":null,"isMeta":true,"message":{"id":"m","content":[{"type":"text","text":"a\nb"}],"usage":{"output_tokens":3}},"compactMetadata":{"preTokens":7}}`))
	f.Add([]byte(`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message"},"record_type":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		text = bytes.TrimSpace(text)
		got, want := make(map[string]span), make(map[string]span)
		if readLine(text, func(c *cursor) bool {
			return c.members(func(name []byte) bool {
				value := c.value()
				got[string(name)] = value
				return value != nil
			})
		}) {
			if err := json.Unmarshal(text, &want, lenient); err != nil {
				t.Fatalf("%s: read, and %v", text, err)
			}
			if !maps.EqualFunc(got, want, func(a, b span) bool { return string(a) == string(b) }) {
				t.Fatalf("%s: %q, want %q", text, got, want)
			}
		}
		var read, decoded codexLine
		none := func(string) codexPayload { return nil }
		if readLine(text, func(c *cursor) bool { return read.members(c, none) }) {
			dec := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
			if err := decoded.decode(dec); err != nil || !reflect.DeepEqual(read, decoded) {
				t.Fatalf("%s: %+v, want %+v, %v", text, read, decoded, err)
			}
		}
		same(t, text, (*claudeRecord).read)
		same(t, text, (*indexRecord).read)
	})
}

func same[T any](t *testing.T, text []byte, read func(*T, *cursor) bool) {
	t.Helper()
	got, want := new(T), new(T)
	if readLine(text, func(c *cursor) bool { return read(got, c) }) {
		if err := json.Unmarshal(text, want, lenient); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, want %+v, %v", text, got, want, err)
		}
	}
}

// TestReadersTakeEveryMember: the members that a struct names for the decoder are those
// that its reader takes.
func TestReadersTakeEveryMember(t *testing.T) {
	t.Parallel()
	everyMember(t, (*claudeRecord).read)
	everyMember(t, (*claudeMessage).read)
	everyMember(t, (*indexRecord).read)
	everyMember(t, (*indexMessage).read)
}

func everyMember[T any](t *testing.T, read func(*T, *cursor) bool) {
	t.Helper()
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		name, named := of.Field(i).Tag.Lookup("json")
		if !named {
			continue
		}
		taken := false
		for _, value := range []string{`null`, `"x"`, `true`, `{"id":"m","trigger":"auto"}`, `[]`} {
			text := []byte(`{"` + name + `":` + value + `}`)
			same(t, text, read)
			var one T
			taken = taken || json.Unmarshal(text, &one, lenient) == nil && !reflect.ValueOf(one).IsZero()
		}
		if !taken {
			t.Errorf("no value sets %s of %s", name, of)
		}
	}
}

// TestWords: a text is what it was before there were words.
func TestWords(t *testing.T) {
	t.Parallel()
	var w words
	for range 2 {
		for _, value := range []string{`null`, `""`, `"user"`, `"usar"`, `"a\\n"`, `"a\n"`, `"\\"`, "\"\xff\"", `"é"`, `"\u0075ser"`,
			`"\\nvaxx"`, `"\nvaxx"`} { // with one place, the first is what the second says without its escape
			if got, want := w.text(span(value)), textOf(span(value)); got != want {
				t.Errorf("%s: %q, want %q", value, got, want)
			}
		}
	}
}
