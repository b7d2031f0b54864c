package schema

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Ref refers to another record: an item, a surface, a policy, a source. The standard allows a
// string or an object. A Ref keeps an object as its JSON text. A Ref is therefore comparable,
// costs one string and travels unchanged. The zero value is no reference.
type Ref string

// ID returns the id of the referenced record. For a string, it is the string itself. For an
// object, it is the first of the members id, item_ref, ref and uri. An object without these
// members yields its JSON text.
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

// inline reports whether the reference is a data URI, which contains the content itself.
func (r Ref) inline() bool {
	const scheme = "data:"
	id := r.ID()
	return len(id) >= len(scheme) && strings.EqualFold(id[:len(scheme)], scheme)
}

// Kind returns the record kind that an object names, such as "scratchpad". Kind returns "" if the
// reference names no kind.
func (r Ref) Kind() string {
	var o struct {
		Kind string `json:"kind"`
	}
	if r.isObject() && json.Unmarshal([]byte(r), &o) == nil {
		return o.Kind
	}
	return ""
}

func (r Ref) isObject() bool { return len(r) > 0 && r[0] == '{' }

// MarshalJSONTo writes the reference in its original form.
func (r Ref) MarshalJSONTo(enc *jsontext.Encoder) error {
	if r.isObject() {
		return enc.WriteValue(jsontext.Value(r))
	}
	return enc.WriteToken(jsontext.String(string(r)))
}

// referenceError describes a valid reference. referenceError quotes no input.
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

// checkText refuses a string that would be mistaken for an object.
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

// MaxEvidenceID is the maximum length of an Agent Evidence id, in bytes.
const MaxEvidenceID = 256

// evidenceEscape is the prefix of every escaped evidence id.
const evidenceEscape = "x-"

// EvidenceID maps an id of ctxledger to an id of Agent Evidence. Ids of Agent Evidence match
// ^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$ (boundary rule 7). An id that matches and does not begin with
// "x-" is mapped to itself. Any other id is escaped: "x-", followed by its bytes. Letters, digits,
// ".", ":" and "-" are unchanged. Other bytes become "_" and two upper-case hexadecimal digits:
//
//	turn-3           turn-3
//	file:///a/b c    x-file:_2F_2F_2Fa_2Fb_20c
//	x-1              x-x-1
//
// Different ids have different evidence ids. [ParseEvidenceID] reverses the mapping. The error
// means that the result would be too long. Ids of up to 84 bytes never fail.
func EvidenceID(id string) (string, error) {
	mapped := id
	if !isEvidenceID(id) || strings.HasPrefix(id, evidenceEscape) {
		mapped = escapeEvidence(id)
	}
	if len(mapped) > MaxEvidenceID {
		return "", fmt.Errorf("id of %d bytes: its evidence id would have %d bytes, the limit is %d; use a shorter id", len(id), len(mapped), MaxEvidenceID)
	}
	return mapped, nil
}

// ParseEvidenceID returns the id of an evidence id. ParseEvidenceID returns an error for text
// that [EvidenceID] never makes.
func ParseEvidenceID(mapped string) (string, error) {
	refuse := func() (string, error) {
		return "", fmt.Errorf("evidence id %q: want an id that EvidenceID makes", Clip(mapped))
	}
	if !isEvidenceID(mapped) || len(mapped) > MaxEvidenceID {
		return refuse()
	}
	rest, escaped := strings.CutPrefix(mapped, evidenceEscape)
	if !escaped {
		return mapped, nil
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		if rest[i] != '_' {
			b.WriteByte(rest[i])
			continue
		}
		if i+2 >= len(rest) || hexDigit(rest[i+1]) < 0 || hexDigit(rest[i+2]) < 0 {
			return refuse()
		}
		b.WriteByte(byte(hexDigit(rest[i+1])<<4 | hexDigit(rest[i+2])))
		i += 2
	}
	id := b.String()
	if again, err := EvidenceID(id); err != nil || again != mapped {
		return refuse()
	}
	return id, nil
}

// evidencePlain reports whether c is unchanged in an escaped id.
func evidencePlain(c byte) bool {
	return plainTokenByte(c) && c != '_' || c == '.' || c == ':'
}

func isEvidenceID(id string) bool {
	for i := range len(id) {
		if !evidencePlain(id[i]) && id[i] != '_' || i == 0 && strings.IndexByte("_.:-", id[0]) >= 0 {
			return false
		}
	}
	return id != ""
}

func escapeEvidence(id string) string {
	const upper = "0123456789ABCDEF"
	b := []byte(evidenceEscape)
	for i := range len(id) {
		if c := id[i]; evidencePlain(c) {
			b = append(b, c)
		} else {
			b = append(b, '_', upper[c>>4], upper[c&15])
		}
	}
	return string(b)
}

// textRef begins the reference to a text in the bucket of texts.
const textRef = "urn:ctxledger:text:"

// TextRef returns the content_ref of an item whose text is too large for its event. The text is in the
// object bucket CTX_TEXTS, encrypted, under its tenant and its keyed digest, see [Key.Digest].
func TextRef(digest string) Ref { return Ref(textRef + digest) }

// TextDigest returns the digest of a [TextRef], and "" for any other reference.
func (r Ref) TextDigest() string {
	digest, ok := strings.CutPrefix(string(r), textRef)
	if !ok {
		return ""
	}
	return digest
}
