package schema

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Words returns the words of the contract as they stand in messages, a line each: names of members
// and attributes, types, words of vocabularies, and the beginnings of subjects. Every event has some
// of them. A redaction of such a word would stop its tenant, and is refused. The caller must not
// change the bytes.
func Words() []byte { return contractWords() }

// HoldsWord reports whether a value to withhold stands in a word of the contract, or in several that
// follow one another in a message. Values of fewer bytes than a fingerprint has are never found.
func HoldsWord(value string) bool {
	return len(value) >= shortestFingerprinted && bytes.Contains(Words(), []byte(value))
}

// shortestFingerprinted is the smallest length of a value with a fingerprint, in bytes.
const shortestFingerprinted = 8

var contractWords = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	seen := make(map[string]bool)
	line := func(text string) {
		if !seen[text] {
			seen[text] = true
			b.WriteString(text + "\n")
		}
	}
	for _, t := range Types() {
		object, verb := t.ObjectVerb()
		line(t.CloudEventsType())
		line(t.DataSchema())
		line("." + object + "." + verb)
		line(`{"schema_version":"` + Version + `","event_type":"` + string(t) + `","`)
		var s wordSchema
		if json.Unmarshal(JSONSchema(t), &s) == nil {
			s.each(line)
		}
	}
	for _, a := range attributes {
		line(`","` + a.name + `":"`)
		line(a.header)
	}
	for _, word := range []string{subjectPrefix, MsgIDHeader, "application/json", "application/cloudevents+json", `":false,"`, `":null,"`, `":true,"`} {
		line(word)
	}
	return b.Bytes()
})

// wordSchema is the part of a JSON Schema that has words. Examples of a member are its vocabulary;
// examples of a type are events, and not read.
type wordSchema struct {
	Properties map[string]wordSchema `json:"properties"`
	Defs       map[string]wordSchema `json:"$defs"`
	Items      *wordSchema           `json:"items"`
	Words      []any                 `json:"examples"`
}

// each calls visit for each name and word, as they stand in JSON.
func (s wordSchema) each(visit func(string)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := s.Properties[name]
		visit(`,"` + name + `":{"`)
		visit(`,"` + name + `":[{"`)
		visit(`,"` + name + `":"`)
		for _, word := range member.Words {
			if text, ok := word.(string); ok && !strings.ContainsAny(text, " /") {
				visit(`:"` + text + `","`)
			}
		}
		member.each(visit)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		s.Defs[name].each(visit)
	}
	if s.Items != nil {
		s.Items.each(visit)
	}
}
