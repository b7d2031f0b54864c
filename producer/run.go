package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/schema"
)

// Run describes a root run to open (seed 000). Everything but Session may be
// left out.
type Run struct {
	ID       string // defaults to a UUIDv7
	Session  string // the durable container of the work; required
	Thread   string // defaults to Session
	Agent    string // the agent's name
	Resource string // whose data it is
	Program  string // name and version of the runtime
	Grants   grant.Set
	// MaxDepth is how deep children may nest; 0 allows none.
	MaxDepth int
	// Tags and Metadata are this run's own; the inherited ones go to children.
	Tags, InheritedTags         []string
	Metadata, InheritedMetadata map[string]any
	// ConfigurableKeys names configurable values, never holds them.
	ConfigurableKeys []string
}

// Child describes a run inside another. What it does not say, it inherits.
type Child struct {
	ID     string // defaults to a UUIDv7
	Thread string // defaults to the parent's
	Agent  string // defaults to the parent's
	// Grants asks for part of the parent's grants; the zero value inherits.
	Grants grant.Request
	Tags   []string // in addition to the inherited ones
	// Metadata is in addition to the inherited one.
	Metadata map[string]any
}

// RunContext is one run. It is immutable and safe for concurrent use; a child
// gets copies, so nothing a child does can change its parent.
type RunContext struct {
	client            *Client
	ids               schema.Correlation
	parentThread      string
	depth, maxDepth   int
	grants            grant.Set
	inheritedTags     []string
	inheritedMetadata map[string]any
	log               *itemLog
}

// ErrDepth means that a child would nest deeper than the root run allowed.
var ErrDepth = errors.New("the run is nested as deep as its root allows")

// Open records a root run and the grants it was given.
func (c *Client) Open(ctx context.Context, r Run) (*RunContext, error) {
	if r.Session == "" {
		return nil, errors.New("producer: a run needs a session")
	}
	id, err := orNewID(r.ID)
	if err != nil {
		return nil, err
	}
	run := &RunContext{
		client: c, depth: 0, maxDepth: r.MaxDepth, grants: slices.Clone(r.Grants),
		inheritedTags: slices.Clone(r.InheritedTags), inheritedMetadata: maps.Clone(r.InheritedMetadata), log: new(itemLog),
		ids: schema.Correlation{
			Agent: r.Agent, ResourceID: r.Resource, SessionID: r.Session, ThreadID: r.Thread, RunID: id, RootRunID: id,
		},
	}
	if run.ids.ThreadID == "" {
		run.ids.ThreadID = r.Session
	}
	opened := run.opened(r.Tags, r.Metadata)
	opened.ConfigurableKeys, opened.Program = r.ConfigurableKeys, r.Program
	if err := run.Record(ctx, opened); err != nil {
		return nil, err
	}
	if len(r.Grants) == 0 {
		return run, nil
	}
	return run, run.Record(ctx, &schema.GrantIssued{Grant: schema.Grant{
		GrantID: "grant:" + id, Grants: r.Grants.Strings(), Effective: r.Grants.Strings(), Issuer: c.config.Runtime,
	}})
}

// Child records a run inside r with grants that are r's or fewer. A request
// that would widen is recorded as denied and returned as a [*grant.Error] or
// [*grant.ScopeError], and no child comes about.
func (r *RunContext) Child(ctx context.Context, c Child) (*RunContext, error) {
	if r.depth >= r.maxDepth {
		return nil, fmt.Errorf("%w (%d)", ErrDepth, r.maxDepth)
	}
	id, err := orNewID(c.ID)
	if err != nil {
		return nil, err
	}
	effective, err := r.grants.Narrow(c.Grants)
	if err != nil {
		return nil, errors.Join(err, r.Record(ctx, deniedGrant(id, r.grants, c.Grants, err)))
	}
	child := &RunContext{
		client: r.client, ids: r.ids, parentThread: r.ids.ThreadID, depth: r.depth + 1, maxDepth: r.maxDepth, grants: effective,
		inheritedTags: slices.Clone(r.inheritedTags), inheritedMetadata: maps.Clone(r.inheritedMetadata), log: r.log,
	}
	child.ids.RunID, child.ids.ParentRunID = id, r.ids.RunID
	if c.Agent != "" {
		child.ids.Agent = c.Agent
	}
	if c.Thread != "" && c.Thread != r.ids.ThreadID {
		child.ids.ThreadID, child.log = c.Thread, new(itemLog)
	}
	if err := child.Record(ctx, child.opened(c.Tags, c.Metadata)); err != nil {
		return nil, err
	}
	return child, child.Record(ctx, narrowedGrant(id, r.grants, c.Grants, effective))
}

func (r *RunContext) opened(tags []string, metadata map[string]any) *schema.ScopeOpened {
	f := &schema.ScopeOpened{
		RunID: r.ids.RunID, ParentRunID: r.ids.ParentRunID, RootRunID: r.ids.RootRunID, ThreadID: r.ids.ThreadID,
		ScopeKind: "agent", Depth: new(int64(r.depth)), MaxDepth: new(int64(r.maxDepth)),
		Tags: tags, InheritedTags: r.inheritedTags, LocalMetadata: metadata, InheritedMetadata: r.inheritedMetadata,
	}
	if r.depth > 0 {
		f.ScopeKind, f.ParentThreadID = "subagent", r.parentThread
		f.ThreadOverridden = r.parentThread != r.ids.ThreadID
		f.InheritedFields = []string{"root_run_id", "session_id", "grants", "inherited_tags", "inherited_metadata", "max_depth"}
	}
	return f
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

func deniedGrant(run string, parent grant.Set, request grant.Request, why error) *schema.GrantDenied {
	f := &schema.GrantDenied{Grant: schema.Grant{
		GrantID: "grant:" + run, Grants: parent.Strings(), Requested: new(request.Paths()), Rule: "narrow_only", Reason: why.Error(), Code: "NAMESPACE_GRANT_OUT_OF_SCOPE",
	}}
	var malformed *grant.Error
	if errors.As(why, &malformed) {
		f.Rule, f.Code = "grammar", malformed.Code()
	}
	return f
}

// Record queues any fact with the run's ids.
func (r *RunContext) Record(ctx context.Context, fact schema.Fact) error {
	return r.record(ctx, fact, r.ids)
}

func (r *RunContext) record(ctx context.Context, fact schema.Fact, ids schema.Correlation) error {
	if _, err := r.client.Record(ctx, fact, ids); err != nil {
		return fmt.Errorf("record %s: %w", fact.EventType(), err)
	}
	return nil
}

// Grants returns what the run may touch.
func (r *RunContext) Grants() grant.Set { return slices.Clone(r.grants) }

// RunID returns the run's id.
func (r *RunContext) RunID() string { return r.ids.RunID }

func orNewID(id string) (string, error) {
	if id != "" {
		return id, nil
	}
	fresh, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return fresh.String(), nil
}
