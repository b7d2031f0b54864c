package grant

import (
	"errors"
	"strings"
)

// CodeInvalid is the stable code of every [*Error].
const CodeInvalid = "NAMESPACE_GRANT_INVALID"

// ErrInvalid is what every [*Error] wraps: a grant, a request or a policy was
// refused. It is permanent; the caller must ask for something else.
var ErrInvalid = errors.New("namespace grant invalid")

// ErrScope is what every [*ScopeError] wraps: the grants do not reach the scope.
// It is permanent for these grants.
var ErrScope = errors.New("scope not granted")

// Error says which input was refused and why. Its text is the same in every
// implementation of seed 002, so that logs of different runtimes compare.
type Error struct {
	// Input is the offending grant as it was given.
	Input string
	// Detail says what is wrong with it.
	Detail string
}

func invalid(input, detail string) *Error { return &Error{Input: input, Detail: detail} }

// Error returns `Invalid namespace grant "<input>": <detail>`. The input stands
// there byte for byte, which the vectors demand; quote it where that matters.
func (e *Error) Error() string {
	return `Invalid namespace grant "` + e.Input + `": ` + e.Detail
}

// Code returns [CodeInvalid].
func (e *Error) Code() string { return CodeInvalid }

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// ScopeError says that a set of grants does not reach a scope.
type ScopeError struct {
	// Scope is what was asked for; empty where there is no grant at all.
	Scope string
	// Grants are the grants that were consulted.
	Grants Set
	// Write is true when writing was asked for.
	Write bool
	// Promotion is the write rule's; it is empty for reads.
	Promotion Promotion
}

// Error returns the text that seed 002's memory provider uses.
func (e *ScopeError) Error() string {
	if e.Scope == "" {
		return "memrez operations require at least one namespace grant"
	}
	if !e.Write {
		return "scope '" + e.Scope + "' is not readable from grants " + e.Grants.String()
	}
	return "scope '" + e.Scope + "' is not writable from grants " + e.Grants.String() +
		" with ancestorPromotion=" + string(e.Promotion)
}

// Unwrap returns [ErrScope].
func (e *ScopeError) Unwrap() error { return ErrScope }

func joinPaths(paths []Path) string {
	var b strings.Builder
	for i, p := range paths {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(p))
	}
	return b.String()
}
