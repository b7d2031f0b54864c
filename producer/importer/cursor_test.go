package importer

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cursed are objects with what may mislead somebody who looks for ends only.
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
		value, err := jsontext.NewDecoder(bytes.NewReader(text), streamed).ReadValue()
		if err != nil {
			return
		}
		var want map[string]span
		if value.Kind() == '{' {
			if err := json.Unmarshal(value, &want, streamed); err != nil {
				t.Fatal(err)
			}
		}
		got := make(map[string]span)
		ok := decode(value, func(c *cursor) bool {
			return c.members(func(name []byte) bool {
				got[string(name)] = c.value()
				return true
			})
		})
		if ok != (value.Kind() == '{') || !maps.EqualFunc(got, want, func(a, b span) bool { return string(a) == string(b) }) {
			t.Errorf("%s: %v, %q, want %q", text, ok, got, want)
		}
		for _, v := range got {
			var wanted, elements []span
			isArray := json.Unmarshal(v, &wanted, streamed) == nil && v.Kind() == '['
			ok := decode(v, func(c *cursor) bool {
				return c.elements(func() bool { elements = append(elements, c.value()); return true })
			})
			if ok != isArray || ok && !slices.EqualFunc(elements, wanted, func(a, b span) bool { return string(a) == string(b) }) {
				t.Errorf("%s: %v, %q, want %q", v, ok, elements, wanted)
			}
			room := []byte("used")
			if a, b := v.textIn(&room), textOf(v); a != b {
				t.Errorf("%s: %q in room, %q without", v, a, b)
			}
		}
	})
}

// TestDecodeRefusesWhatUnmarshalDoes: a log with a value of another form is reported.
func TestDecodeRefusesWhatUnmarshalDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: true, `[]`: false, `null`: false, `"a"`: false, `7`: false,
		`{"timestamp":"t","source":null,"tool_call_metadata":null}`: true,
		`{"timestamp":1}`: false, `{"source":{}}`: false, `{"action":1,"kind":[]}`: true,
		`{"tool_call_metadata":[]}`: false, `{"tool_call_metadata":{"model_response":{"id":1}}}`: false, `{"llm_metrics":7}`: false,
		`{"tool_call_metadata":{"function_name":"f","model_response":{"id":"x","more":[{}]}},"timestamp":"t"}`: true,
	} {
		if got := decode([]byte(text), new(ohEvent).read); got != want {
			t.Errorf("event %s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		`{"role":"user","content":[{}],"is_demo":true,"tool_calls":null,"extra":null}`: true,
		`{"role":1}`: false, `{"is_demo":"yes"}`: false, `{"tool_calls":{}}`: false, `{"tool_calls":[null,{"function":null}]}`: true,
		`{"tool_calls":[{"function":{"name":1}}]}`: false, `{"tool_call_ids":[1]}`: false, `{"extra":{"cost":"1"}}`: false,
	} {
		if got := decode([]byte(text), new(sweMessage).read); got != want {
			t.Errorf("message %s: %v", text, got)
		}
	}
	e := ohEvent{Args: span(`{"content":"c","query":[1],"final_thought":"behind it"}`)}
	if args := e.args(); string(args.Content) != `"c"` || args.Query != "" || args.FinalThought != "" {
		t.Errorf("arguments with one of another form are %+v", args)
	}
	var step sweStep
	if !decode([]byte(`{"query":[],"messages":null}`), step.read) || step.shown() == nil {
		t.Error("a step that shows no message is one of which that is not known")
	}
}
