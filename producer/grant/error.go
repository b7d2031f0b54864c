package grant

import (
	"errors"
	"strings"
)

// CodeInvalid is the stable code of every [*Error].
const CodeInvalid = "NAMESPACE_GRANT_INVALID"

// ErrInvalid is wrapped by every [*Error]: a grant, a request or a policy was refused. The
// error is permanent; the caller must change the input.
var ErrInvalid = errors.New("namespace grant invalid")

// ErrScope is wrapped by every [*ScopeError]: the grants do not reach the scope. The error
// is permanent for these grants.
var ErrScope = errors.New("scope not granted")

// Error names the refused input and the reason. Every implementation of seed 002 uses the
// same text, so logs of different runtimes can be compared.
type Error struct {
	// Input is the refused grant, unchanged.
	Input string
	// Detail is the reason for the refusal.
	Detail string
}

func invalid(input, detail string) *Error { return &Error{Input: input, Detail: detail} }

// Error returns `Invalid namespace grant "<input>": <detail>`. The vectors require the
// input byte for byte, so quote the text before it reaches a terminal or a log.
func (e *Error) Error() string {
	return `Invalid namespace grant "` + e.Input + `": ` + e.Detail
}

// Code returns [CodeInvalid].
func (e *Error) Code() string { return CodeInvalid }

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// ScopeError means that a set of grants does not reach a scope.
type ScopeError struct {
	// Scope is the requested scope. Empty means that there is no grant.
	Scope string
	// Grants are the grants that were checked.
	Grants Set
	// Write is true if the request was to write.
	Write bool
	// Promotion is the promotion of the write rule. Empty for reads.
	Promotion Promotion
}

// Error returns the text of seed 002's memory provider.
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
