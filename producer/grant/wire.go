package grant

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The JSON forms are the forms of the other implementations of seed 002. A path is a
// string, a set is an array of paths, and a protected namespace is an object. Values of
// another kind are refused with the texts of these implementations, so only a grant is read
// as a grant.

// UnmarshalJSON reads a path from a JSON string. The error is an [*Error].
func (p *Path) UnmarshalJSON(data []byte) error {
	var s string
	if jsontext.Value(data).Kind() != '"' || json.Unmarshal(data, &s) != nil {
		return invalid(spelled(data), "grant must be a string")
	}
	return p.UnmarshalText([]byte(s))
}

// UnmarshalJSON reads a whole list of grants as [Parse] does. JSON null is not a list. For
// a field that may be absent, use a pointer, see [Requested]. The error is an [*Error].
// With an error, s is unchanged.
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

// UnmarshalJSON reads a list of grants as [Only]. An absent field stays [Inherit]. JSON
// null, and any value except a list of strings, gives an [*Error]. Then r is malformed: r
// requests nothing, and [Set.Narrow] refuses r with the same error. Therefore null never
// inherits, even if the caller ignores the error.
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

// Malformed returns the [*Error] with which the request was refused when it was read, or
// nil.
func (r Request) Malformed() error {
	if r.malformed == nil {
		return nil
	}
	return r.malformed
}

// UnmarshalJSON reads {"namespace", "allowAncestorGrants", "allowBoundaryGrant",
// "minDescendantSegments"}. Other members are refused, because a misspelled member would
// reduce the protection. The grammar of the namespace is checked when the policy is used.
// The error is an [*Error] for an invalid number of segments.
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

// spelled returns a JSON value in JavaScript's string form. The other implementations quote
// an input that is not a string in this form.
func spelled(data []byte) string {
	value := jsontext.Value(data)
	switch value.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(data, &s) // an unreadable value gives ""
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
