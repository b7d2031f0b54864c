package verify

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// quickSchema accepts nearly all documents in one pass over their text, without
// building their values. It is read from the schema itself. What it does not
// accept may be valid all the same: the validator decides. Nil accepts any JSON.
type quickSchema struct {
	never    bool // says something that is not known here
	kinds    kinds
	id, time bool     // of texts
	words    []string // the only texts, where there are some
	positive bool     // of numbers
	elements *quickSchema
	members  map[string]quickMember
	required uint64 // as [quickMember] has them
	others   *quickSchema
}

// quickMember is a member of an object, and its bit among the required ones.
type quickMember struct {
	schema *quickSchema
	bit    uint64
}

// kinds are the JSON types that a value may have; none stands for all.
type kinds uint8

const (
	textKind kinds = 1 << iota
	numberKind
	integerKind
	objectKind
	arrayKind
	boolKind
	nullKind
)

var kindNames = map[string]kinds{
	"string": textKind, "number": numberKind | integerKind, "integer": integerKind, "object": objectKind, "array": arrayKind, "boolean": boolKind, "null": nullKind,
}

// idPattern is the one pattern that is known here, see [isID].
const idPattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$"

// quickReader reads the schemas of one file.
type quickReader struct {
	defs map[string]any
	done map[string]*quickSchema // of $defs
}

// quickSchemas reads all schemas, by the id with which they are compiled.
func quickSchemas(paths []string) (map[string]*quickSchema, error) {
	by := make(map[string]*quickSchema)
	for _, path := range paths {
		text, err := schemaFiles.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var file map[string]any
		if err := json.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		id, _ := file["$id"].(string)
		defs, _ := file["$defs"].(map[string]any)
		r := quickReader{defs: defs, done: make(map[string]*quickSchema)}
		by[id] = r.read(file)
		for name := range defs {
			by[id+"#/$defs/"+name] = r.def(name)
		}
	}
	return by, nil
}

func (r *quickReader) def(name string) *quickSchema {
	if q := r.done[name]; q != nil {
		return q
	}
	q := &quickSchema{}
	r.done[name] = q // it may refer to itself
	*q = *r.read(r.defs[name])
	return q
}

// read reads a schema. A keyword that is not known here makes it accept nothing.
func (r *quickReader) read(value any) *quickSchema {
	schema, ok := value.(map[string]any)
	q := &quickSchema{never: !ok}
	if name, ok := schema["$ref"].(string); ok && len(schema) == 1 && strings.HasPrefix(name, "#/$defs/") {
		return r.def(strings.TrimPrefix(name, "#/$defs/"))
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if !r.keyword(q, keyword, schema[keyword]) {
			q.never = true
		}
	}
	return q
}

// keyword takes in a keyword and reports whether it is known here.
func (r *quickReader) keyword(q *quickSchema, keyword string, value any) bool {
	switch keyword {
	case "$schema", "$id", "$defs", "title", "description":
	case "type":
		for _, name := range listOf(value) {
			q.kinds |= kindNames[name]
		}
		return q.kinds != 0
	case "enum":
		q.words = listOf(value)
		return q.words != nil
	case "pattern":
		q.id = true
		return value == idPattern
	case "format":
		q.time = true
		return value == "date-time"
	case "minimum":
		q.positive = true
		return value == 0.0
	case "items":
		q.elements = r.read(value)
	case "additionalProperties":
		if value != true {
			q.others = r.read(value)
		}
	case "properties":
		members, ok := value.(map[string]any)
		for name, of := range members {
			q.setMember(name, func(m *quickMember) { m.schema = r.read(of) })
		}
		return ok
	case "required":
		names := listOf(value)
		for i, name := range names {
			q.setMember(name, func(m *quickMember) { m.bit = 1 << i })
			q.required |= 1 << i
		}
		return names != nil && len(names) <= 64
	default:
		return false
	}
	return true
}

func (q *quickSchema) setMember(name string, set func(*quickMember)) {
	if q.members == nil {
		q.members = make(map[string]quickMember)
	}
	m := q.members[name]
	set(&m)
	q.members[name] = m
}

// listOf returns the strings of a list, or the one string, and nil for all else.
func listOf(value any) (list []string) {
	if text, ok := value.(string); ok {
		return []string{text}
	}
	values, _ := value.([]any)
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		list = append(list, text)
	}
	return list
}

// allows reports whether a value may be of a kind.
func (q *quickSchema) allows(k kinds) bool {
	return q == nil || !q.never && (q.kinds == 0 || q.kinds&k != 0) && (q.words == nil || k == textKind)
}

// allowsText reports whether a text certainly meets the schema.
func (q *quickSchema) allowsText(text []byte) bool {
	return q.allows(textKind) && (q == nil ||
		(!q.id || isID(text)) && (!q.time || isTime(text)) && (q.words == nil || slices.ContainsFunc(q.words, func(word string) bool { return word == string(text) })))
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

// days are those of each month in every year.
var days = [12]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// isTime reports whether text is a time in UTC as packs write them. A 29th of
// February and leap seconds are left to the validator.
func isTime(text []byte) bool {
	const form = "0000-10-20T00:00:00"
	rest, ok := bytes.CutSuffix(text, []byte("Z"))
	if !ok || len(rest) < len(form) {
		return false
	}
	for i, c := range rest {
		switch {
		case i == len(form):
			ok = c == '.' && len(rest) > len(form)+1
		case i > len(form), form[i] == '0', form[i] == '1', form[i] == '2':
			ok = c >= '0' && c <= '9'
		default:
			ok = c == form[i]
		}
		if !ok {
			return false
		}
	}
	two := func(at int) int { return int(rest[at]-'0')*10 + int(rest[at+1]-'0') }
	month, day := two(5), two(8)
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month-1] && two(11) < 24 && two(14) < 60 && two(17) < 60
}
