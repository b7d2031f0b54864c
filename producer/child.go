package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Child describes a run inside another. What it does not say, it inherits, and
// what it says can only narrow what it inherits.
type Child struct {
	ID     string // defaults to a UUIDv7
	Thread string // defaults to the parent's
	Agent  string // defaults to the parent's
	Place  Place  // what it leaves empty is the parent's
	// Grants asks for part of the parent's grants; the zero value inherits.
	Grants grant.Request
	// Resources are those that the child's manifest declares; none is inherited,
	// and none gets more than runs above have of its kind.
	Resources []Resource
	// Limits are new ones, or lower than the parent's.
	Limits Limits
	// Stores asks for some of the parent's stores; the zero value inherits.
	Stores           grant.Request
	Tags             []string       // in addition to the inherited ones
	Metadata         map[string]any // in addition to the inherited one
	ConfigurableKeys []string       // in addition to the parent's
	Pressure         *window.Policy // as in [Run]; defaults to the parent's
	ContextWrite     *bool          // as in [Run]; the parent's says nothing of a child
}

// ErrDepth means that a child would nest deeper than the root run allowed.
var ErrDepth = errors.New("the run is nested as deep as its root allows")

// ErrCycle means that a child has the id of the run it is opened in or of one
// above that.
var ErrCycle = errors.New("a run cannot be below itself")

// Child records a run inside r with grants, limits, stores and resource modes
// that are r's or fewer: all of it or, with an error, nothing, and then there is
// no child. A request for grants that is malformed or would widen is recorded as
// denied and returned as a [*grant.Error]. Other errors: [ErrDepth], [ErrCycle],
// an [*InvalidError], which wraps [ErrWidened] where it asks for more than r
// has, the cause of ctx where that has ended, and those of [Client.Record].
func (r *RunContext) Child(ctx context.Context, c Child) (*RunContext, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("open a run: %w", context.Cause(ctx))
	}
	id, err := r.childID(c.ID)
	if err != nil {
		return nil, err
	}
	grants, err := r.client.config.GrantPolicy.Narrow(r.grants, c.Grants)
	if err != nil {
		return nil, errors.Join(r.client.withheld.hideError(err), r.Record(ctx, r.deniedGrant(id, c.Grants, err)))
	}
	child, err := r.child(id, c)
	if err != nil {
		return nil, r.client.withheld.hideError(err)
	}
	child.grants = grants
	opened := child.opened()
	opened.InheritedFields = inheritedFields(r, child, c)
	facts := append([]schema.Fact{opened, narrowedGrant(id, r.grants, c.Grants, grants)}, child.resolved()...)
	if err := child.Record(ctx, facts...); err != nil {
		return nil, err
	}
	return child, nil
}

// childID is the id of a child that r may have.
func (r *RunContext) childID(asked string) (string, error) {
	if r.depth() >= r.maxDepth {
		return "", fmt.Errorf("%w (%d)", ErrDepth, r.maxDepth)
	}
	id, err := orNewID(asked)
	if err != nil {
		return "", err
	}
	if id == r.IDs.RunID || slices.Contains(r.ancestors, id) {
		return "", ErrCycle
	}
	return id, nil
}

// child makes the run that c describes, all but its grants.
func (r *RunContext) child(id string, c Child) (*RunContext, error) {
	limits, err := r.limits.Narrow(c.Limits)
	if err != nil {
		return nil, err
	}
	stores, err := narrowStores(r.stores, c.Stores)
	if err != nil {
		return nil, err
	}
	pressure, err := pressureOf(c.Pressure, r.pressure)
	if err != nil {
		return nil, err
	}
	bindings, modes, err := r.client.resolve(c.Resources, r.modes)
	if err != nil {
		return nil, err
	}
	own, err := snapshot(c.Metadata)
	if err != nil {
		return nil, err
	}
	child := *r
	child.tags, child.metadata = slices.Clone(c.Tags), own
	child.pressure, child.contextWrite = pressure, c.ContextWrite
	child.calls, child.Account = new(facts.Lineage), newAccount(r.Account, limits)
	child.parentThread, child.ancestors = r.IDs.ThreadID, append(slices.Clone(r.ancestors), r.IDs.RunID)
	child.limits, child.stores, child.bindings, child.modes = limits, stores, bindings, modes
	child.configurableKeys = union(r.configurableKeys, c.ConfigurableKeys)
	child.IDs = c.Place.in(r.IDs)
	child.IDs.RunID, child.IDs.ParentRunID = id, r.IDs.RunID
	if c.Agent != "" {
		child.IDs.Agent = c.Agent
	}
	if c.Thread != "" && c.Thread != r.IDs.ThreadID {
		child.IDs.ThreadID, child.log = c.Thread, r.client.log(r.IDs.SessionID, c.Thread)
	}
	return &child, nil
}

func narrowStores(held []string, asked grant.Request) ([]string, error) {
	if asked.Inherits() {
		return held, nil
	}
	if asked.Malformed() != nil {
		return nil, invalid("stores", "must be a list of names, or absent to inherit")
	}
	stores := union(nil, asked.Paths())
	for _, name := range stores {
		if !slices.Contains(held, name) {
			return nil, &InvalidError{Field: fmt.Sprintf("stores[%q]", name), Problem: "is not one of the parent's", also: ErrWidened}
		}
	}
	return stores, nil
}

// inheritedFields names what a child has of its parent and did not set itself.
func inheritedFields(parent, child *RunContext, asked Child) []string {
	fields := []string{"root_run_id", "session_id", "max_depth"}
	for _, f := range []struct {
		name      string
		inherited bool
	}{
		{"thread_id", child.IDs.ThreadID == parent.IDs.ThreadID},
		{"agent", asked.Agent == "" && parent.IDs.Agent != ""},
		{"resource_id", parent.IDs.ResourceID != ""},
		{"task_id", parent.IDs.TaskID != "" && child.IDs.TaskID == parent.IDs.TaskID},
		{"attempt_id", parent.IDs.AttemptID != "" && child.IDs.AttemptID == parent.IDs.AttemptID},
		{"grants", asked.Grants.Inherits()},
		{"limits", len(parent.limits) > 0},
		{"pressure_policy", asked.Pressure == nil && parent.pressure != nil},
		{"stores", asked.Stores.Inherits() && len(parent.stores) > 0},
		{"configurable_keys", len(parent.configurableKeys) > 0},
		{"inherited_tags", len(parent.inheritedTags) > 0},
		{"inherited_metadata", len(parent.inheritedMetadata) > 0},
	} {
		if f.inherited {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func narrowedGrant(run string, parent grant.Set, request grant.Request, effective grant.Set) *schema.GrantNarrowed {
	f := &schema.GrantNarrowed{Grant: schema.Grant{
		GrantID: "grant:" + run, Grants: parent.Strings(), Effective: effective.Strings(), Inherited: request.Inherits(), Rule: "narrow_only",
	}}
	if !request.Inherits() {
		f.Requested = new(request.Paths())
	}
	return f
}

// deniedGrant records a refusal. The rule is grammar for a request that is
// malformed by itself, protected_namespace for one that the policy refuses, and
// narrow_only for one that asks for more than the parent has; seed 002 has one
// code for all.
func (r *RunContext) deniedGrant(run string, request grant.Request, why error) *schema.GrantDenied {
	f := &schema.GrantDenied{Grant: schema.Grant{
		GrantID: "grant:" + run, Grants: r.grants.Strings(), Rule: "narrow_only", Reason: why.Error(), Code: grant.CodeInvalid,
	}}
	if !request.Inherits() && request.Malformed() == nil {
		f.Requested = new(request.Paths())
	}
	if _, err := grant.Parse(request.Paths()); err != nil || request.Malformed() != nil {
		f.Rule = "grammar"
	} else if _, err := r.client.config.GrantPolicy.Parse(request.Paths()); err != nil {
		f.Rule = "protected_namespace"
	}
	return f
}
