package grant

import "slices"

// Promotion is the distance above a grant at which its holder may write.
type Promotion string

// The promotions of seed 002's memory provider.
const (
	PromoteNone      Promotion = "none"      // not above the grant
	PromoteParent    Promotion = "parent"    // the grant's parent
	PromoteAncestors Promotion = "ancestors" // any ancestor of the grant
)

// WriteRule adds writable scopes to the granted scopes. The zero value adds none.
type WriteRule struct {
	// Descendants permits writing below a grant.
	Descendants bool
	// Promotion permits writing above a grant. Empty, and any unknown value,
	// means [PromoteNone].
	Promotion Promotion
}

// Visible returns the scopes that s may read: each grant with its ancestors, in order,
// without duplicates. If roots is not nil, ancestors outside of every root are left out:
// reading stops at the tenant's root. Scopes below a grant are not listed. A caller reads
// one of them with its own grant.
//
// Source: shared/vectors/grants.json, memrez and tenant_roots.
func (s Set) Visible(roots Set) []Path {
	var out []Path
	for _, g := range s {
		for _, scope := range g.Ancestors() {
			if roots != nil && !roots.Contains(scope) {
				continue
			}
			if !slices.Contains(out, scope) {
				out = append(out, scope)
			}
		}
	}
	return out
}

// Readable returns scope as a path if s may read it. The scope must be a grant, or an
// ancestor of a grant within roots (see [Set.Visible]). The error is an [*Error] if scope
// is not a path, and otherwise a [*ScopeError].
func (s Set) Readable(scope string, roots Set) (Path, error) {
	path, err := ParsePath(scope)
	if err != nil {
		return "", err
	}
	if !slices.Contains(s.Visible(roots), path) {
		return "", &ScopeError{Scope: scope, Grants: slices.Clone(s)}
	}
	return path, nil
}

// Writable returns scope as a path if s may write it under the rule. The error is an
// [*Error] if scope is not a path, and otherwise a [*ScopeError].
func (s Set) Writable(scope string, rule WriteRule) (Path, error) {
	path, err := ParsePath(scope)
	if err != nil {
		return "", err
	}
	for _, g := range s {
		if path == g || (rule.Descendants && g.Contains(path)) || rule.Promotion.reaches(g, path) {
			return path, nil
		}
	}
	promotion := rule.Promotion
	if promotion == "" {
		promotion = PromoteNone
	}
	return "", &ScopeError{Scope: scope, Grants: slices.Clone(s), Write: true, Promotion: promotion}
}

// Some returns a [*ScopeError] if s is empty, for providers that require a grant. An empty
// set reaches no scope in any case.
func (s Set) Some() error {
	if len(s) == 0 {
		return &ScopeError{}
	}
	return nil
}

func (p Promotion) reaches(g, target Path) bool {
	if target == g || !target.Contains(g) {
		return false
	}
	return p == PromoteAncestors || (p == PromoteParent && target.below(g) == 1)
}
