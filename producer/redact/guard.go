package redact

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// Value is one value to withhold, made by [Withhold]. No way of printing or
// encoding one shows the secret, also not as a field of another type: it stands
// behind a function, which fmt and the encoders do not call.
type Value struct{ rule func() rule }

type rule struct {
	secret    string
	policyRef string
	reason    string
}

// Withhold says that the bytes of secret must not appear anywhere. PolicyRef
// names the policy that withholds them and is shown in their place; reason is
// the redaction fact's, e.g. "secret" or "privacy". All three are needed, and
// [New] checks them.
func Withhold(secret, policyRef, reason string) Value {
	r := rule{secret, policyRef, reason}
	return Value{rule: func() rule { return r }}
}

const hiddenValue = "redact.Value(hidden)"

// String returns a constant.
func (Value) String() string { return hiddenValue }

// GoString returns a constant.
func (Value) GoString() string { return hiddenValue }

// Format writes a constant for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hiddenValue) }

// MarshalText encodes a constant, also as JSON.
func (Value) MarshalText() ([]byte, error) { return []byte(hiddenValue), nil }

// LogValue logs a constant.
func (Value) LogValue() slog.Value { return slog.StringValue(hiddenValue) }

// Guard finds values that must be withheld. It is immutable, so it is safe for
// concurrent use; [Guard.With] gives a larger one. A nil Guard withholds
// nothing. The values are held in memory only, and no way of printing or
// encoding a Guard shows them.
type Guard struct{ get func() *held }

// held stands behind a function: where fmt cannot call a method, it follows
// pointers, but never calls a function.
type held struct {
	values     []rule
	exact      map[string]int // by secret
	refs       map[string]bool
	longestRef int // bytes
	patterns   patterns
	compiled   int // values whose patterns are in patterns
	indexes
	spaces bool // some value has a space, which a form encodes as "+"

	fingerprinter *fingerprint.Hasher   // nil makes none
	fingerprints  []*schema.Fingerprint // of values
}

// indexes find the values in each form of a text.
type indexes struct {
	folded   *index // on case-folded text
	encoded  *index // on text as it is
	squeezed *index // on squeezed text
	sieve    *sieve // on squeezed text, of all three
}

// New returns a guard for the values. A value that is given twice counts once,
// the first policy wins. The error is a [*ValueError], and says nothing about
// the secret.
func New(values ...Value) (*Guard, error) { return (*Guard)(nil).With(values...) }

// With returns a guard for the values of g and these. g does not change.
func (g *Guard) With(values ...Value) (*Guard, error) {
	h := &held{exact: map[string]int{}, refs: map[string]bool{}}
	if g != nil && g.get != nil {
		old := g.held()
		h.values, h.compiled, h.spaces = slices.Clone(old.values), old.compiled, old.spaces
		h.patterns = patterns{slices.Clip(old.patterns.folded), slices.Clip(old.patterns.encoded), slices.Clip(old.patterns.squeezed)}
		h.fingerprinter, h.fingerprints = old.fingerprinter, slices.Clip(old.fingerprints)
	}
	for i, v := range values {
		var r rule
		if v.rule != nil {
			r = v.rule()
		}
		if err := r.validate(i); err != nil {
			return nil, err
		}
		h.values = append(h.values, r)
	}
	h.values = h.unique()
	for i, v := range h.values {
		if at := h.refNaming(v.secret); at != "" {
			return nil, &ValueError{Index: i, Problem: "is part of a policy ref, which would publish it"}
		}
	}
	h.compile()
	h.fingerprint()
	return &Guard{get: func() *held { return h }}, nil
}

// held returns what the guard holds, which must not be nothing.
func (g *Guard) held() *held { return g.get() }

// unique drops values that were given before, and fills exact and refs.
func (h *held) unique() []rule {
	var out []rule
	for _, v := range h.values {
		h.refs[v.policyRef] = true
		h.longestRef = max(h.longestRef, len(v.policyRef))
		if _, dup := h.exact[v.secret]; dup {
			continue
		}
		h.exact[v.secret] = len(out)
		out = append(out, v)
	}
	return out
}

// shortestNamed is the length from which a value must not stand in a policy ref.
// A shorter one, such as a PIN of one digit, may do so by chance.
const shortestNamed = 4

func (h *held) refNaming(secret string) string {
	if len(secret) < shortestNamed {
		return ""
	}
	needle := fold(secret)
	for ref := range h.refs {
		if strings.Contains(fold(ref), needle) {
			return ref
		}
	}
	return ""
}

// compile makes the indexes. The patterns of the first values may be there
// already.
func (h *held) compile() {
	for i := h.compiled; i < len(h.values); i++ {
		h.patterns = h.patterns.and(i, h.values[i].secret)
		h.spaces = h.spaces || strings.Contains(h.values[i].secret, " ")
	}
	h.compiled = len(h.values)
	h.folded, h.encoded, h.squeezed = newIndex(h.patterns.folded), newIndex(h.patterns.encoded), newIndex(h.patterns.squeezed)
	h.sieve = h.patterns.sieve()
}

func (v rule) validate(i int) error {
	switch {
	case v.secret == "":
		return &ValueError{Index: i, Problem: "is empty"}
	case v.policyRef == "":
		return &ValueError{Index: i, Problem: "has no policy ref"}
	case v.reason == "":
		return &ValueError{Index: i, Problem: "has no reason"}
	case !utf8.ValidString(v.policyRef) || strings.ContainsFunc(v.policyRef, unprintable):
		return &ValueError{Index: i, Problem: `has a policy ref with a control character, one of "\[]%, or bytes that are not UTF-8`}
	}
	return nil
}

// unprintable reports what a placeholder must not hold, so that it needs no
// escape in JSON and its end is found.
func unprintable(r rune) bool {
	return !unicode.IsPrint(r) || strings.ContainsRune(`"\[]%`, r)
}

// Len returns how many values the guard holds.
func (g *Guard) Len() int {
	if g == nil || g.get == nil {
		return 0
	}
	return len(g.held().values)
}

// ValueError says which value a guard refused. It holds no part of the value.
type ValueError struct {
	Index   int    // among the values given
	Problem string // the end of a sentence
}

// Error names the value by its index.
func (e *ValueError) Error() string {
	return fmt.Sprintf("value %d to withhold %s", e.Index, e.Problem)
}

// String returns how many values are held.
func (g *Guard) String() string { return fmt.Sprintf("redact.Guard(%d values)", g.Len()) }

// GoString is String.
func (g *Guard) GoString() string { return g.String() }

// Format writes String for every verb.
func (g *Guard) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, g.String()) }

// MarshalText encodes String, also as JSON.
func (g *Guard) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// LogValue logs String.
func (g *Guard) LogValue() slog.Value { return slog.StringValue(g.String()) }
