package producer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/schema"
)

// Access is one operation on a resource.
type Access struct {
	Resource  string // name of the resource in the run
	Operation string // the provider's name of the operation, such as read, write or list; required
	// Mode is the mode that the operation needs. Empty means [grant.ReadWrite].
	Mode     grant.Mode
	Path     string // namespace that the operation touches
	ToolCall string // id of the tool call that makes the access; optional
}

// ErrAccess is wrapped by every [*AccessError]: the run has no right to the access. The
// error is permanent for the run.
var ErrAccess = errors.New("access denied")

// AccessError names the denied access and the rule that denied it.
type AccessError struct {
	Resource, Operation, Path string
	// Rule is "not_declared", "unresolved", "mode", "grammar" or "grant".
	Rule string
}

// Error names the access and the rule.
func (e *AccessError) Error() string {
	return fmt.Sprintf("%v: %s of %s at %q, by the rule %q", ErrAccess, e.Operation, e.Resource, e.Path, e.Rule)
}

// Unwrap returns [ErrAccess].
func (e *AccessError) Unwrap() error { return ErrAccess }

// Access decides whether the run may do a, and records the decision. Providers call Access
// before they touch a resource. Providers stop at an error that wraps [ErrAccess]. The mode
// must allow the operation, and a grant must reach the path. A provider with other rules
// for paths, such as reading above its grants, decides by its rules and records the fact
// itself.
//
// A denied access gives an [*AccessError]. The error of [Client.Record] is joined to it
// where the denial could not be recorded. An allowed access that could not be recorded
// gives only the error of [Client.Record]. The runtime decides whether to continue without
// the record.
func (r *RunContext) Access(ctx context.Context, a Access) error {
	return r.access(ctx, a, r.IDs, nil)
}

// Access is [RunContext.Access] within the turn.
func (t *Turn) Access(ctx context.Context, a Access) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	return t.run.access(ctx, a, t.IDs, t.use)
}

func (r *RunContext) access(ctx context.Context, a Access, ids schema.Correlation, used func(sequence int64)) error {
	if a.Operation == "" {
		return invalid("operation", "must be named")
	}
	ids.ToolCallID = a.ToolCall
	b, declared := r.bindings[a.Resource]
	if !declared {
		b.Name = a.Resource
	}
	matched, rule := r.permit(b, a)
	of := r.resource(b)
	of.Tools = nil // recorded by the fact of the resolution
	fact := &schema.ResourceAccessed{
		Resource: of, Operation: a.Operation, Path: strings.ToValidUTF8(a.Path, "\uFFFD"), MatchedGrant: string(matched), Allowed: rule == "",
	}
	if rule != "" {
		fact.Metadata = map[string]any{"rule": rule}
	}
	err := r.record(ctx, ids, used, fact)
	if rule == "" {
		return err
	}
	return errors.Join(r.client.denied(a, rule), err)
}

// permit returns the grant for the path, or the rule that denies the access.
func (r *RunContext) permit(b Binding, a Access) (grant.Path, string) {
	needs := a.Mode
	if needs == "" {
		needs = grant.ReadWrite
	}
	path, err := grant.ParsePath(a.Path)
	matched, reached := r.grants.Match(path)
	switch {
	case b.Kind == "":
		return "", "not_declared"
	case b.Unresolved != "":
		return "", "unresolved"
	case !b.Effective.Allows(needs):
		return "", "mode"
	case err != nil:
		return "", "grammar"
	case !reached:
		return "", "grant"
	}
	return matched, ""
}

// denied returns the error of a denied access, with withheld values masked.
func (c *Client) denied(a Access, rule string) *AccessError {
	mask := func(s string) string {
		masked, _ := c.withheld.guard().Mask(s)
		return masked
	}
	return &AccessError{Resource: mask(a.Resource), Operation: mask(a.Operation), Path: mask(a.Path), Rule: rule}
}
