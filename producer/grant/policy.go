package grant

import "strconv"

// Protected is a namespace whose boundary must not be granted. An agent may hold users/u_1,
// but not users or a namespace above users.
type Protected struct {
	// Namespace is the boundary, in the grammar of a grant.
	Namespace string
	// AllowAncestors permits grants above the boundary. Defaults to false.
	AllowAncestors bool
	// AllowExact permits a grant of the boundary itself. Defaults to false.
	AllowExact bool
	// MinDescendantSegments is the smallest number of segments that a grant needs below the
	// boundary. Nil means 1. With 0, the boundary itself still needs AllowExact. A negative
	// number is refused.
	MinDescendantSegments *int
}

// Policy holds the namespaces that an operator protects. The zero value protects nothing. A
// policy applies to the parent's grants and to the requested grants. A grant that was
// minted before the policy therefore gives no access.
type Policy struct {
	Protected []Protected `json:"protectedNamespaces"`
}

// Validate checks the policy and changes nothing. The error is an [*Error].
func (p Policy) Validate() error { return p.check(nil) }

// Parse is [Parse] under the policy. Parse checks the grammar of the whole list first, then
// the policy itself, then each grant against the policy.
func (p Policy) Parse(list []string) (Set, error) {
	out := make(Set, 0, len(list))
	seen := make(map[Path]struct{}, len(list))
	for _, s := range list {
		path, err := ParsePath(s)
		if err != nil {
			return nil, err
		}
		if _, dup := seen[path]; dup {
			continue
		}
		seen[path] = struct{}{}
		out = append(out, path)
	}
	if err := p.check(out); err != nil {
		return nil, err
	}
	return out, nil
}

// Narrow is [Set.Narrow] under the policy.
func (p Policy) Narrow(parent Set, requested Request) (Set, error) {
	held, err := p.Parse(parent.Strings())
	if err != nil {
		return nil, err
	}
	if requested.Inherits() {
		return held, nil
	}
	if requested.malformed != nil {
		return nil, requested.malformed
	}
	asked, err := p.Parse(requested.paths)
	if err != nil {
		return nil, err
	}
	for _, path := range asked {
		if !held.Contains(path) {
			return nil, invalid(string(path), "grant is not within parent context "+held.String())
		}
	}
	return asked, nil
}

func (p Policy) check(grants Set) error {
	for _, rule := range p.Protected {
		if err := rule.check(grants); err != nil {
			return err
		}
	}
	return nil
}

func (r Protected) check(grants Set) error {
	boundary, err := ParsePath(r.Namespace)
	if err != nil {
		return err
	}
	least := 1
	if r.MinDescendantSegments != nil {
		least = *r.MinDescendantSegments
	}
	if least < 0 {
		return invalidLeast(r.Namespace)
	}
	for _, g := range grants {
		if detail := r.violation(boundary, g, least); detail != "" {
			return invalid(string(g), detail)
		}
	}
	return nil
}

func invalidLeast(namespace string) *Error {
	return invalid(namespace, "protected namespace minDescendantSegments must be a non-negative integer")
}

// violation returns the reason why the rule refuses g, or "".
func (r Protected) violation(boundary, g Path, least int) string {
	quoted := "'" + string(boundary) + "'"
	switch {
	case g == boundary:
		if !r.AllowExact {
			return "grant is exactly protected namespace " + quoted +
				"; grant a narrower descendant or explicitly allow boundary grants"
		}
	case g.Contains(boundary):
		if !r.AllowAncestors {
			return "grant is above protected namespace " + quoted + "; grant a narrower descendant instead"
		}
	case boundary.Contains(g) && boundary.below(g) < least:
		return "grant must include at least " + strconv.Itoa(least) +
			" descendant segment(s) below protected namespace " + quoted
	}
	return ""
}
