package grant

import "slices"

// Set is an ordered list of namespace grants without duplicates. The zero value grants
// nothing. Treat a Set as immutable. Every operation returns a new slice, so the parent
// never sees a change by a child.
//
// A Set made by [Parse] or [Set.Narrow] follows the grammar. A Set written as a literal is
// checked when it is narrowed.
type Set []Path

// Parse checks a whole list of grants: all are accepted, or none. Duplicates are removed,
// and the order of first occurrence is kept. A nil or empty list gives an empty, non-nil
// Set. The error is an [*Error] for the first invalid grant.
//
// Source: seed 002 (grants), shared/vectors/grants.json.
func Parse(list []string) (Set, error) { return Policy{}.Parse(list) }

// Narrow returns the grants of a child of s. For [Inherit] these are the grants of s. For
// other requests these are exactly the requested grants, and each must lie within s. Narrow
// never widens. The error is an [*Error] for the first violation. With an error, the child
// gets no grant.
//
// Source: seed 002 (narrow-only propagation).
func (s Set) Narrow(requested Request) (Set, error) { return Policy{}.Narrow(s, requested) }

// Contains reports whether some grant of s reaches p.
func (s Set) Contains(p Path) bool {
	return slices.ContainsFunc(s, func(g Path) bool { return g.Contains(p) })
}

// Match returns the first grant of s that reaches p, and whether there is one. The record
// of an access names this grant.
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

// String returns the grants in the form of the error texts: [a/b, c].
func (s Set) String() string { return "[" + joinPaths(s) + "]" }

// Request is the part of the parent's grants that a child run requests. The zero value is
// [Inherit].
type Request struct {
	listed    bool
	paths     []string
	malformed *Error // error of a value that is not a list of grants, or nil
}

// Inherit requests all of the parent's grants.
func Inherit() Request { return Request{} }

// Only requests exactly these grants. Without a path, or with an empty or nil slice, the
// child gets no grants.
func Only(paths ...string) Request {
	return Request{listed: true, paths: slices.Clone(paths)}
}

// Requested converts the wire form to a Request. A nil pointer means an absent field and
// inherits. A pointer to a list requests exactly this list, even if the list is empty or
// nil. A JSON decoder also makes null a nil pointer. If null is possible, decode into a
// Request, see [Request.UnmarshalJSON].
func Requested(list *[]string) Request {
	if list == nil {
		return Inherit()
	}
	return Only(*list...)
}

// Inherits reports whether the request is [Inherit].
func (r Request) Inherits() bool { return !r.listed }

// Paths returns the requested paths, unchanged. Paths returns nil if the request inherits.
func (r Request) Paths() []string { return slices.Clone(r.paths) }
