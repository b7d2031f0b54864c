package grant

import "slices"

// Set is an ordered list of namespace grants without duplicates. The zero value
// grants nothing. Treat it as immutable: every operation returns a fresh slice,
// so a change that a child makes to its own set is never seen by the parent.
//
// A Set made by [Parse] or [Set.Narrow] follows the grammar. One written as a
// literal is checked when it is narrowed.
type Set []Path

// Parse checks a whole list of grants: all are accepted, or none. Duplicates
// are removed; the order of first occurrence stays. A nil and an empty list both
// give an empty, non-nil Set. The error is an [*Error] for the first offender.
//
// Source: seed 002 (grants), shared/vectors/grants.json.
func Parse(list []string) (Set, error) { return Policy{}.Parse(list) }

// Narrow returns the grants of a child of s: those of s where the request is
// [Inherit], and otherwise exactly the requested ones, each of which must lie
// within s. It never widens. The error is an [*Error] for the first violation,
// and then no grant is given at all.
//
// Source: seed 002 (narrow-only propagation).
func (s Set) Narrow(requested Request) (Set, error) { return Policy{}.Narrow(s, requested) }

// Contains reports whether some grant of s reaches p.
func (s Set) Contains(p Path) bool {
	return slices.ContainsFunc(s, func(g Path) bool { return g.Contains(p) })
}

// Match returns the first grant of s that reaches p, for the record of an
// access, and whether there is one.
func (s Set) Match(p Path) (Path, bool) {
	for _, g := range s {
		if g.Contains(p) {
			return g, true
		}
	}
	return "", false
}

// Strings returns the grants as strings, in order; never nil.
func (s Set) Strings() []string {
	out := make([]string, len(s))
	for i, p := range s {
		out[i] = string(p)
	}
	return out
}

// String returns the grants as the error texts show them: [a/b, c].
func (s Set) String() string { return "[" + joinPaths(s) + "]" }

// Request is what a child run asks of its parent's grants. The zero value is
// [Inherit].
type Request struct {
	listed    bool
	paths     []string
	malformed *Error // why what was asked for is no list of grants; nil where it is one
}

// Inherit asks for all of the parent's grants.
func Inherit() Request { return Request{} }

// Only asks for exactly these grants. With no path, also through an empty or nil
// slice, it asks for none, and the child gets none.
func Only(paths ...string) Request {
	return Request{listed: true, paths: slices.Clone(paths)}
}

// Requested turns the wire form into a Request: a nil pointer (the field was
// absent) inherits, and a pointer to a list, also to an empty or nil one, asks
// for exactly that list. A JSON decoder makes null a nil pointer, too: decode into a
// Request where null can come, see [Request.UnmarshalJSON].
func Requested(list *[]string) Request {
	if list == nil {
		return Inherit()
	}
	return Only(*list...)
}

// Inherits reports whether the request is [Inherit].
func (r Request) Inherits() bool { return !r.listed }

// Paths returns what was asked for, as given; nil where the request inherits.
func (r Request) Paths() []string { return slices.Clone(r.paths) }
