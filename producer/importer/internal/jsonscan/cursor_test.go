package jsonscan

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cursed are objects that can mislead a reader that only searches for ends.
var cursed = []string{
	`{}`, ` { } `, `{"a":[]}`, `{"a":{},"b":""}`, "{\n\t\"a\" : 1 ,\r\n \"b\" : null }",
	`{"a":"}","b":"]","c":"\"","d":"\\","e":"\\\"","f":"\\\\","":0}`,
	`{"a":[1,-2.5e3,true,false,null,"]",{"b":["}"]}],"c":[[],[[]],{}]}`,
	`{"\u0061":1,"a\"b":2,"\\":3}`, `{"a":1,"a":{"b":2}}`, `{"é":"ü\ud800","a":12}`, "{\"\x82\":0}",
}

func FuzzCursor(f *testing.F) {
	for _, text := range cursed {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := jsontext.NewDecoder(bytes.NewReader(text), Streamed).ReadValue()
		if err != nil {
			return
		}
		var want map[string]Span
		if value.Kind() == '{' {
			if err := json.Unmarshal(value, &want, Streamed); err != nil {
				t.Fatal(err)
			}
		}
		got := make(map[string]Span)
		ok := Decode(value, func(c *Cursor) bool {
			return c.Members(func(name []byte) bool {
				got[string(name)] = c.Value()
				return true
			})
		})
		if ok != (value.Kind() == '{') || !maps.EqualFunc(got, want, func(a, b Span) bool { return string(a) == string(b) }) {
			t.Errorf("%s: %v, %q, want %q", text, ok, got, want)
		}
		for _, v := range got {
			var wanted, elements []Span
			isArray := json.Unmarshal(v, &wanted, Streamed) == nil && v.Kind() == '['
			ok := Decode(v, func(c *Cursor) bool {
				return c.Elements(func() bool { elements = append(elements, c.Value()); return true })
			})
			if ok != isArray || ok && !slices.EqualFunc(elements, wanted, func(a, b Span) bool { return string(a) == string(b) }) {
				t.Errorf("%s: %v, %q, want %q", v, ok, elements, wanted)
			}
			room := []byte("used")
			if a, b := v.TextIn(&room), TextOf(v); a != b {
				t.Errorf("%s: %q in room, %q without", v, a, b)
			}
		}
	})
}
