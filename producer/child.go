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

// Child describes a run inside another. An empty field is inherited. A set field can only
// narrow the inherited value.
type Child struct {
	ID     string // defaults to a UUIDv7
	Thread string // defaults to the parent's
	Agent  string // defaults to the parent's
	Place  Place  // empty fields are the parent's
	// Grants requests a part of the parent's grants; the zero value inherits all of them.
	Grants grant.Request
	// Resources are the resources that the child's manifest declares. The child inherits
	// none. A resource gets no more than the runs above have of its kind.
	Resources []Resource
	// Limits are new limits, or limits lower than the parent's.
	Limits Limits
	// Stores requests some of the parent's stores; the zero value inherits all of them.
	Stores           grant.Request
	Tags             []string       // in addition to the inherited tags
	Metadata         map[string]any // in addition to the inherited metadata
	ConfigurableKeys []string       // in addition to the parent's keys
	Pressure         *window.Policy // as in [Run]; defaults to the parent's
	ContextWrite     *bool          // as in [Run]; not inherited
}

// ErrDepth means that the child would be nested deeper than the root run allows.
var ErrDepth = errors.New("the run is nested as deep as its root allows")

// ErrCycle means that the requested id is the id of the parent run or of a run above it.
var ErrCycle = errors.New("a run cannot be below itself")

// Child records a run inside r. Its grants, limits, stores and resource modes are r's or
// fewer. With an error there is no child, and no fact is recorded. The exception is a
// malformed or widening request for grants: the request is recorded as denied and returned
// as a [*grant.Error].
//
// Other errors are [ErrDepth], [ErrCycle], an [*InvalidError], the cause of ctx where ctx
// has ended, and errors of [Client.Record]. The [*InvalidError] wraps [ErrWidened] if the
// child requests more than r has.
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

// childID returns the requested id, or a new one, if r may have a child with this id.
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

// child makes the run that c describes, without its grants.
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

// inheritedFields returns the names of the fields that a child has from its parent.
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

// deniedGrant records a refusal. The rule of a malformed request is grammar. The rule is
// protected_namespace if the policy refuses the request, and narrow_only if the request
// exceeds the parent's grants. Seed 002 has one code for all three.
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
