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

// Value is one value to withhold, made by [Withhold]. No printed or encoded form shows the
// secret, even as a field of another type. The secret is inside a function, and fmt and the
// encoders do not call functions.
type Value struct{ rule func() rule }

type rule struct {
	secret    string
	policyRef string
	reason    string
}

// Withhold returns a Value for a secret whose bytes must not be published. PolicyRef names
// the policy that withholds the secret and is shown in the placeholder. Reason is the
// reason in the redaction fact, e.g. "secret" or "privacy". All three are required, and
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

// Guard finds values that must be withheld. A Guard is immutable and so safe for concurrent
// use; [Guard.With] returns a larger one. A nil Guard withholds nothing. The values are
// only in memory, and no printed or encoded form of a Guard shows them.
type Guard struct{ get func() *held }

// held is inside a function. If fmt cannot call a method, fmt follows pointers, but fmt
// never calls a function.
type held struct {
	values     []rule
	exact      map[string]int // by secret
	refs       map[string]bool
	longestRef int // in bytes
	patterns   patterns
	compiled   int // number of values whose patterns are in patterns
	indexes
	spaces bool // whether a value has a space, which one form encodes as "+"

	fingerprinter *fingerprint.Hasher    // nil computes no fingerprints
	fingerprints  [][]schema.Fingerprint // by value
}

// indexes hold the patterns of the values for each form of a text.
type indexes struct {
	folded   *index // on case-folded text
	encoded  *index // on unchanged text
	squeezed *index // on squeezed text
	sieve    *sieve // on squeezed text, for all three
}

// New returns a guard for the values. A repeated value counts once, with its first policy.
// The error is a [*ValueError] and holds no part of the secret.
func New(values ...Value) (*Guard, error) { return (*Guard)(nil).With(values...) }

// With returns a guard for the values of g and the new values. g does not change.
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
			return nil, &ValueError{Index: i, Problem: "is part of a policy ref, which would publish it; use another policy ref"}
		}
	}
	h.compile()
	h.fingerprint()
	return &Guard{get: func() *held { return h }}, nil
}

// held returns the content of the guard. The guard must not be nil.
func (g *Guard) held() *held { return g.get() }

// unique drops repeated values, and fills exact and refs.
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

// shortestNamed is the smallest length of a value that must not be in a policy ref. A
// shorter value, such as a PIN of one digit, may be in a policy ref by chance.
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

// compile makes the indexes. The patterns of the first values may already exist.
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
	case schema.HoldsWord(v.secret):
		return &ValueError{Index: i, Problem: "is a word of the event contract, which every event holds; withhold the secret itself"}
	case !utf8.ValidString(v.policyRef) || strings.ContainsFunc(v.policyRef, unprintable):
		return &ValueError{Index: i, Problem: `has a policy ref with a control character, one of "\[]%, or bytes that are not UTF-8; use another policy ref`}
	}
	return nil
}

// unprintable reports whether a placeholder must not hold r. Other characters need no
// escape in JSON and do not hide the end of the placeholder.
func unprintable(r rune) bool {
	return !unicode.IsPrint(r) || strings.ContainsRune(`"\[]%`, r)
}

// Len returns the number of values in the guard.
func (g *Guard) Len() int {
	if g == nil || g.get == nil {
		return 0
	}
	return len(g.held().values)
}

// ValueError names the value that a guard refused. A ValueError holds no part of the value.
type ValueError struct {
	Index   int    // index in the list of given values
	Problem string // end of the sentence
}

// Error names the value by its index.
func (e *ValueError) Error() string {
	return fmt.Sprintf("value %d to withhold %s", e.Index, e.Problem)
}

// String returns the number of values in the guard.
func (g *Guard) String() string { return fmt.Sprintf("redact.Guard(%d values)", g.Len()) }

// GoString is String.
func (g *Guard) GoString() string { return g.String() }

// Format writes String for every verb.
func (g *Guard) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, g.String()) }

// MarshalText encodes String, also as JSON.
func (g *Guard) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// LogValue logs String.
func (g *Guard) LogValue() slog.Value { return slog.StringValue(g.String()) }
