package verify

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// quickSchema accepts most elements of Agent Evidence without building their
// values: flat objects of strings. It is read from the schema itself. What it
// does not accept may be valid all the same: the validator decides.
type quickSchema struct {
	required []string
	rules    map[string]quickRule
}

// quickRule is what a member must be, any text for the zero value.
type quickRule struct {
	id, time bool
	words    []string // the only ones, where there are some
	never    bool     // not a text
}

// quickSchemas reads those of the $defs of the file written here, by name.
func quickSchemas() (map[string]*quickSchema, error) {
	text, err := schemaFiles.ReadFile("schemas/agentevidence.json")
	if err != nil {
		return nil, err
	}
	type property struct {
		Ref  string   `json:"$ref"`
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}
	var file struct {
		Defs map[string]struct {
			Required   []string            `json:"required"`
			Properties map[string]property `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	by := make(map[string]*quickSchema)
	for name, def := range file.Defs {
		q := &quickSchema{required: def.Required, rules: make(map[string]quickRule)}
		for member, p := range def.Properties {
			switch {
			case p.Ref == "#/$defs/id":
				q.rules[member] = quickRule{id: true}
			case p.Ref == "#/$defs/time":
				q.rules[member] = quickRule{time: true}
			case p.Enum != nil:
				q.rules[member] = quickRule{words: p.Enum}
			case p.Type != "string":
				q.rules[member] = quickRule{never: true}
			}
		}
		by[name] = q
	}
	return by, nil
}

// A member is one of a flat object. Both alias the line.
type member struct{ name, value []byte }

// flat appends the members of a JSON object that has only strings without
// escapes, as documents are written, and reports whether it is one.
func flat(to []member, text []byte) ([]member, bool) {
	if len(text) < 2 || text[0] != '{' {
		return to, false
	}
	for at := 1; ; at++ {
		var m member
		var ok bool
		if m.name, at, ok = plainString(text, at); !ok || at >= len(text) || text[at] != ':' {
			return to, false
		}
		if m.value, at, ok = plainString(text, at+1); !ok || at >= len(text) {
			return to, false
		}
		to = append(to, m)
		if text[at] != ',' {
			return to, text[at] == '}' && at == len(text)-1
		}
	}
}

// plainString returns the string that begins at a quotation mark and where it
// ends.
func plainString(text []byte, at int) ([]byte, int, bool) {
	if at >= len(text) || text[at] != '"' {
		return nil, at, false
	}
	from := at + 1
	for at = from; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return text[from:at], at + 1, true
		case c == '\\' || c < ' ' || c >= 0x7f:
			return nil, at, false
		}
	}
	return nil, at, false
}

// accepts reports whether the members are certainly valid.
func (q *quickSchema) accepts(members []member) bool {
	for i, m := range members {
		for _, before := range members[:i] {
			if bytes.Equal(before.name, m.name) {
				return false
			}
		}
		rule := q.rules[string(m.name)]
		switch {
		case rule.never, rule.id && !isID(m.value):
			return false
		case rule.words != nil && !slices.Contains(rule.words, string(m.value)):
			return false
		case rule.time:
			if _, err := time.Parse(time.RFC3339Nano, string(m.value)); err != nil {
				return false
			}
		}
	}
	for _, name := range q.required {
		if !slices.ContainsFunc(members, func(m member) bool { return string(m.name) == name }) {
			return false
		}
	}
	return true
}

// isID reports whether text is an id of Agent Evidence.
func isID(text []byte) bool {
	for i, c := range text {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '_' && c != '.' && c != ':' && c != '-') {
			return false
		}
	}
	return len(text) > 0 && len(text) <= 256
}
