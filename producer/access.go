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
	Resource  string // its name in the run
	Operation string // the provider's word, such as read, write or list; required
	// Mode says what the operation needs. One that does not say needs
	// [grant.ReadWrite].
	Mode     grant.Mode
	Path     string // the namespace that it touches
	ToolCall string // the tool call that it is part of; optional
}

// ErrAccess is what every [*AccessError] wraps: the run may not do that. It is
// permanent for the run.
var ErrAccess = errors.New("access denied")

// AccessError says which access was denied and by what rule.
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

// Access decides whether the run may do a, and records it either way: providers
// ask before they touch anything, and stop at an error that wraps [ErrAccess].
// The mode must allow the operation, and a grant must reach the path. A provider
// with other rules for paths, such as reading above its grants, decides by them
// and records the fact itself.
//
// The error is an [*AccessError] for a denied access, joined with that of
// [Client.Record] where the denial could not be recorded. An allowed access that
// could not be recorded gives that of [Client.Record] alone: to go on without
// the record is the runtime's choice.
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
	of.Tools = nil // the resolution has them
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

// permit returns the grant that reaches the path, or the rule that denies.
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

// denied is the error of an access, without withheld values.
func (c *Client) denied(a Access, rule string) *AccessError {
	mask := func(s string) string {
		masked, _ := c.withheld.guard().Mask(s)
		return masked
	}
	return &AccessError{Resource: mask(a.Resource), Operation: mask(a.Operation), Path: mask(a.Path), Rule: rule}
}
