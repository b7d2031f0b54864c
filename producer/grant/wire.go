package grant

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The JSON forms are those of the other implementations of seed 002: a path is
// a string, a set is an array of paths, and a protected namespace is an object.
// What is of another kind is refused with the text that they give, so nothing
// that is not a grant is ever read as one.

// UnmarshalJSON reads a path from a JSON string. The error is an [*Error].
func (p *Path) UnmarshalJSON(data []byte) error {
	var s string
	if jsontext.Value(data).Kind() != '"' || json.Unmarshal(data, &s) != nil {
		return invalid(spelled(data), "grant must be a string")
	}
	return p.UnmarshalText([]byte(s))
}

// UnmarshalJSON reads a whole list of grants as [Parse] does. JSON null is no
// list: a field that may be absent is a pointer, see [Requested]. The error is
// an [*Error], and then s is as it was.
func (s *Set) UnmarshalJSON(data []byte) error {
	var values []jsontext.Value
	if jsontext.Value(data).Kind() != '[' || json.Unmarshal(data, &values) != nil {
		return invalid(spelled(data), "context must be an array of namespace grants")
	}
	list := make([]string, len(values))
	for i, value := range values {
		var path Path
		if err := path.UnmarshalJSON(value); err != nil {
			return err
		}
		list[i] = string(path)
	}
	parsed, err := Parse(list)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// UnmarshalJSON reads a list of grants as [Only]; a field that is absent stays
// [Inherit]. JSON null, and what is no list of strings, is an [*Error], and r is
// then malformed: it asks for nothing, and [Set.Narrow] refuses it with the same
// error. So null never turns into all that the parent has, also where the caller
// overlooks the error.
func (r *Request) UnmarshalJSON(data []byte) error {
	var set Set
	if err := set.UnmarshalJSON(data); err != nil {
		malformed, isGrant := err.(*Error)
		if !isGrant {
			malformed = invalid(spelled(data), err.Error())
		}
		*r = Request{listed: true, malformed: malformed}
		return malformed
	}
	*r = Only(set.Strings()...)
	return nil
}

// Malformed reports why the request was refused when it was read; nil where it was
// not. The error is an [*Error].
func (r Request) Malformed() error {
	if r.malformed == nil {
		return nil
	}
	return r.malformed
}

// UnmarshalJSON reads {"namespace", "allowAncestorGrants", "allowBoundaryGrant",
// "minDescendantSegments"} and refuses other members, since a misspelt one would
// protect less than was meant. The grammar of the namespace is checked when the
// policy is used. The error is an [*Error] where the number of segments is none.
func (r *Protected) UnmarshalJSON(data []byte) error {
	var wire struct {
		Namespace      string         `json:"namespace"`
		AllowAncestors bool           `json:"allowAncestorGrants"`
		AllowExact     bool           `json:"allowBoundaryGrant"`
		Least          jsontext.Value `json:"minDescendantSegments"`
	}
	if err := json.Unmarshal(data, &wire, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	read := Protected{Namespace: wire.Namespace, AllowAncestors: wire.AllowAncestors, AllowExact: wire.AllowExact}
	if wire.Least != nil {
		n, err := strconv.Atoi(string(wire.Least))
		if err != nil || n < 0 {
			return invalidLeast(wire.Namespace)
		}
		read.MinDescendantSegments = &n
	}
	*r = read
	return nil
}

// spelled writes a JSON value as JavaScript makes a string of it, which is how
// the other implementations quote an input that is no string.
func spelled(data []byte) string {
	value := jsontext.Value(data)
	switch value.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(data, &s) // what cannot be read is spelled as nothing
		return s
	case '{':
		return "[object Object]"
	case '[':
		var values []jsontext.Value
		_ = json.Unmarshal(data, &values)
		parts := make([]string, len(values))
		for i, v := range values {
			if v.Kind() != 'n' {
				parts[i] = spelled(v)
			}
		}
		return strings.Join(parts, ",")
	}
	return string(value)
}
