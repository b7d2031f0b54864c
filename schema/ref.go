package schema

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Ref points at another record: an item, a surface, a policy, a source. The
// standard allows a string or an object; the object form is kept as its JSON
// text, so a Ref is comparable, costs one string and travels unchanged. The
// zero value is no reference.
type Ref string

// ID returns what the reference points at: the string itself, or the first
// of the members id, item_ref, ref and uri of the object form. An object with
// none of them yields its JSON text.
func (r Ref) ID() string {
	if !r.isObject() {
		return string(r)
	}
	var o struct {
		ID      string `json:"id"`
		ItemRef string `json:"item_ref"`
		Ref     string `json:"ref"`
		URI     string `json:"uri"`
	}
	if json.Unmarshal([]byte(r), &o) == nil {
		for _, id := range []string{o.ID, o.ItemRef, o.Ref, o.URI} {
			if id != "" {
				return id
			}
		}
	}
	return string(r)
}

func (r Ref) isObject() bool { return len(r) > 0 && r[0] == '{' }

// MarshalJSONTo writes the reference in the form it came in.
func (r Ref) MarshalJSONTo(enc *jsontext.Encoder) error {
	if r.isObject() {
		return enc.WriteValue(jsontext.Value(r))
	}
	return enc.WriteToken(jsontext.String(string(r)))
}

// referenceError says what a reference should be. It quotes nothing.
type referenceError struct{ fix string }

func (e *referenceError) Error() string { return e.fix }

// UnmarshalJSONFrom reads a string or an object.
func (r *Ref) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*r = Ref(token.String())
		return r.checkText()
	case '{':
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		value = value.Clone()
		if err := value.Compact(); err != nil {
			return err
		}
		*r = Ref(value)
		return nil
	default:
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return &referenceError{"send a reference as a string or an object"}
	}
}

// checkText refuses a reference that came as a string and would be taken for
// an object.
func (r Ref) checkText() error {
	if r.isObject() {
		return &referenceError{"send the id as a string that does not start with {, or an object"}
	}
	return nil
}

// Refs makes references to the given ids.
func Refs(ids ...string) []Ref {
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i] = Ref(id)
	}
	return refs
}

// RefIDs returns the id of every reference, in order.
func RefIDs(refs []Ref) []string {
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.ID()
	}
	return ids
}
