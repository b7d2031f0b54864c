package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	// Metadata is what JSON can hold, and handles do not belong there.
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

// RunContext is one run. It is immutable and safe for concurrent use; it shares
// no memory with what it was opened with, and a child gets copies, so nothing a
// child or a caller does can change it. Cancellation is the context.Context's
// that every method takes.
type RunContext struct {
	client            *Client
	ids               schema.Correlation
	parentThread      string
	ancestors         []string // run ids, from the root to the parent
	maxDepth          int
	grants            grant.Set
	inheritedTags     []string
	inheritedMetadata map[string]any // encoded, see snapshot
	log               *itemLog
}

// ErrDepth means that a child would nest deeper than the root run allowed.
var ErrDepth = errors.New("the run is nested as deep as its root allows")

// ErrCycle means that a child has the id of the run it is opened in or of one
// above that.
var ErrCycle = errors.New("a run cannot be below itself")

// Open records a root run and the grants it was given. With an error there is
// no run; a malformed grant is a [*grant.Error], and then nothing is recorded.
func (c *Client) Open(ctx context.Context, r Run) (*RunContext, error) {
	switch {
	case r.Session == "":
		return nil, errors.New("producer: a run needs a session")
	case r.MaxDepth < 0:
		return nil, errors.New("producer: MaxDepth must not be negative")
	}
	grants, err := grant.Parse(r.Grants.Strings())
	if err != nil {
		return nil, c.hideError(err)
	}
	id, err := orNewID(r.ID)
	if err != nil {
		return nil, err
	}
	inherited, err := snapshot(r.InheritedMetadata)
	if err != nil {
		return nil, err
	}
	if r.Thread == "" {
		r.Thread = r.Session
	}
	run := &RunContext{
		client: c, maxDepth: r.MaxDepth, grants: grants,
		inheritedTags: slices.Clone(r.InheritedTags), inheritedMetadata: inherited, log: c.log(r.Session, r.Thread),
		ids: schema.Correlation{
			Agent: r.Agent, ResourceID: r.Resource, SessionID: r.Session, ThreadID: r.Thread, RunID: id, RootRunID: id,
		},
	}
	opened := run.opened(r.Tags, r.Metadata)
	opened.ConfigurableKeys, opened.Program = r.ConfigurableKeys, r.Program
	if err := run.Record(ctx, opened); err != nil {
		return nil, err
	}
	if len(grants) == 0 {
		return run, nil
	}
	issued := &schema.GrantIssued{Grant: schema.Grant{
		GrantID: "grant:" + id, Grants: grants.Strings(), Effective: grants.Strings(), Issuer: c.config.Runtime,
	}}
	if err := run.Record(ctx, issued); err != nil {
		return nil, err
	}
	return run, nil
}

// Child records a run inside r with grants that are r's or fewer. A request
// that is malformed or would widen is recorded as denied and returned as a
// [*grant.Error], and no child comes about; neither does it with [ErrDepth] and
// [ErrCycle].
func (r *RunContext) Child(ctx context.Context, c Child) (*RunContext, error) {
	if r.depth() >= r.maxDepth {
		return nil, fmt.Errorf("%w (%d)", ErrDepth, r.maxDepth)
	}
	id, err := orNewID(c.ID)
	if err != nil {
		return nil, err
	}
	if id == r.ids.RunID || slices.Contains(r.ancestors, id) {
		return nil, ErrCycle
	}
	effective, err := r.grants.Narrow(c.Grants)
	if err != nil {
		return nil, errors.Join(r.client.hideError(err), r.Record(ctx, deniedGrant(id, r.grants, c.Grants, err)))
	}
	child := &RunContext{
		client: r.client, ids: r.ids, parentThread: r.ids.ThreadID, ancestors: append(slices.Clone(r.ancestors), r.ids.RunID),
		maxDepth: r.maxDepth, grants: effective, inheritedTags: r.inheritedTags, inheritedMetadata: r.inheritedMetadata, log: r.log,
	}
	child.ids.RunID, child.ids.ParentRunID = id, r.ids.RunID
	if c.Agent != "" {
		child.ids.Agent = c.Agent
	}
	if c.Thread != "" && c.Thread != r.ids.ThreadID {
		child.ids.ThreadID, child.log = c.Thread, r.client.log(r.ids.SessionID, c.Thread)
	}
	opened := child.opened(c.Tags, c.Metadata)
	opened.InheritedFields = inheritedFields(r, child, c)
	if err := child.Record(ctx, opened); err != nil {
		return nil, err
	}
	if err := child.Record(ctx, narrowedGrant(id, r.grants, c.Grants, effective)); err != nil {
		return nil, err
	}
	return child, nil
}

func (r *RunContext) depth() int { return len(r.ancestors) }

func (r *RunContext) opened(tags []string, metadata map[string]any) *schema.ScopeOpened {
	f := &schema.ScopeOpened{
		RunID: r.ids.RunID, ParentRunID: r.ids.ParentRunID, RootRunID: r.ids.RootRunID, ThreadID: r.ids.ThreadID,
		ScopeKind: "agent", Depth: new(int64(r.depth())), MaxDepth: new(int64(r.maxDepth)),
		Tags: tags, InheritedTags: r.inheritedTags, LocalMetadata: metadata, InheritedMetadata: r.inheritedMetadata,
	}
	if r.depth() > 0 {
		f.ScopeKind, f.ParentThreadID = "subagent", r.parentThread
		f.ThreadOverridden = r.parentThread != r.ids.ThreadID
	}
	return f
}

// inheritedFields names what a child has of its parent and did not set itself.
func inheritedFields(parent, child *RunContext, asked Child) []string {
	fields := []string{"root_run_id", "session_id", "max_depth"}
	for _, f := range []struct {
		name      string
		inherited bool
	}{
		{"thread_id", child.ids.ThreadID == parent.ids.ThreadID},
		{"agent", asked.Agent == "" && parent.ids.Agent != ""},
		{"resource_id", parent.ids.ResourceID != ""},
		{"grants", asked.Grants.Inherits()},
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
// malformed by itself, and narrow_only for one that asks for more than the
// parent has; seed 002 has one code for both.
func deniedGrant(run string, parent grant.Set, request grant.Request, why error) *schema.GrantDenied {
	f := &schema.GrantDenied{Grant: schema.Grant{
		GrantID: "grant:" + run, Grants: parent.Strings(), Rule: "narrow_only", Reason: why.Error(), Code: grant.CodeInvalid,
	}}
	if !request.Inherits() {
		f.Requested = new(request.Paths())
	}
	if _, err := grant.Parse(request.Paths()); err != nil {
		f.Rule = "grammar"
	}
	return f
}

// Record queues any fact with the run's ids; see [Client.Record].
func (r *RunContext) Record(ctx context.Context, fact schema.Fact) error {
	return r.record(ctx, fact, r.ids, nil)
}

// record queues a fact. Used, where given, gets the sequences that it took.
func (r *RunContext) record(ctx context.Context, fact schema.Fact, ids schema.Correlation, used func(sequence int64)) error {
	if err := r.client.record(ctx, ids, submission{fact: fact, used: used}); err != nil {
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

// snapshot encodes each value, so that nobody who holds a map or slice within
// can change what facts will say. The error quotes nothing.
func snapshot(metadata map[string]any) (map[string]any, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	copied := make(map[string]any, len(metadata))
	for name, value := range metadata {
		encoded, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("producer: metadata holds a %T, which JSON cannot hold", value)
		}
		copied[name] = jsontext.Value(encoded)
	}
	return copied, nil
}
