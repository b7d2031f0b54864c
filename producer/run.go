package producer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Run describes a root run to open (seed 000). Everything but Session may be
// left out.
type Run struct {
	ID         string // defaults to a UUIDv7
	Session    string // the durable container of the work; required
	Thread     string // defaults to Session
	Agent      string // the agent's name
	ResourceID string // whose data it is
	Place      Place  // the managed task and attempt that the run works on
	Program    string // name and version of the runtime
	Grants     grant.Set
	Resources  []Resource // what the agent's manifest declares
	Limits     Limits
	Stores     []string // names of the stores that the run can reach
	// MaxDepth is how deep children may nest; 0 allows none.
	MaxDepth int
	// Tags and Metadata are this run's own; the inherited ones go to children.
	// Metadata is what JSON can hold, and handles do not belong there.
	Tags, InheritedTags         []string
	Metadata, InheritedMetadata map[string]any
	// ConfigurableKeys names configurable values. The values, as all that lives
	// only at run time, stay with the runtime: no field takes one, so no fact can
	// have it.
	ConfigurableKeys []string
	// Pressure is the policy by which windows of the run, and of those below it, are
	// made to fit where a call names none. Nil is none.
	Pressure *window.Policy
	// Basis names the authenticated facts that the grants were minted from, such as
	// "user:u_1", and the policies that they were minted by.
	Basis Basis
	// ContextWrite says whether the agent's output goes back to its scratchpads. Nil is
	// unknown; where it is false, [Turn.WriteScratchpad] is refused.
	ContextWrite *bool
}

// Basis is what trusted code minted a run's grants from: ids, or references in JSON.
//
// Source: seed 002 (namespace grants).
type Basis struct {
	Facts      []string // such as a user, a workspace, a tenant, a service identity
	PolicyRefs []string
}

// Place says where in the work a run, a turn or a part of a turn is. What is empty is that
// of what it is in. A place with a task of its own has no attempt of another task, and so
// on downwards: task, attempt, step, tool call, action.
//
// Source: seed 001 (runtime ids).
type Place struct {
	Task, Attempt string // the managed task, and which try at it
	Step          string // the runtime's step
	ToolCall      string // the tool call that consumed context
	Action        string // the action, of a person or a policy, that requested more context
}

// in returns ids with those of the place.
func (p Place) in(ids schema.Correlation) schema.Correlation {
	levels := []struct {
		asked string
		id    *string
	}{{p.Task, &ids.TaskID}, {p.Attempt, &ids.AttemptID}, {p.Step, &ids.StepID}, {p.ToolCall, &ids.ToolCallID}, {p.Action, &ids.ActionID}}
	own := false
	for _, level := range levels {
		if own = own || level.asked != ""; own {
			*level.id = level.asked
		}
	}
	return ids
}

// RunContext is one run. It is immutable and safe for concurrent use; it shares
// no memory with what it was opened with, and a child gets copies, so nothing a
// child or a caller does can change it. [Client.Open] and [RunContext.Child]
// make one; the zero value is not usable.
//
// Cancellation is that of the context.Context that every method takes, and a
// RunContext holds none: a child ends with its parent where the caller derives
// the child's context from the parent's, and never the other way round. Under an
// ended context no run opens. What has happened is recorded all the same.
type RunContext struct {
	client            *Client
	IDs               schema.Correlation
	parentThread      string
	ancestors         []string // run ids, from the root to the parent
	maxDepth          int
	grants            grant.Set
	bindings          map[string]Binding    // by name
	modes             map[string]grant.Mode // by kind; what a child's are clamped to
	limits            Limits
	stores            []string
	configurableKeys  []string
	tags              []string
	inheritedTags     []string
	metadata          map[string]any // encoded, see snapshot
	inheritedMetadata map[string]any // encoded, too
	pressure          *window.Policy
	contextWrite      *bool
	log               *itemLog
	calls             *facts.Lineage // whose prompt cache the run's calls share
	Account           *Account       // what the run and those below it use
}

// Open records a root run, the grants it was given and the resources it
// declares: all of it or, with an error, nothing, and then there is no run. The
// error is an [*InvalidError] for what cannot be a run, a [*grant.Error] for a
// grant that is malformed or that Config.GrantPolicy protects, the cause of ctx
// where that has ended, or one of [Client.Record].
func (c *Client) Open(ctx context.Context, r Run) (*RunContext, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("open a run: %w", context.Cause(ctx))
	}
	run, err := c.root(r)
	if err != nil {
		return nil, c.withheld.hideError(err)
	}
	opened := run.opened()
	opened.Program = r.Program
	facts := []schema.Fact{opened}
	if len(run.grants) > 0 {
		f := &schema.GrantIssued{Grant: schema.Grant{
			GrantID: "grant:" + run.IDs.RunID, Grants: run.grants.Strings(), Effective: run.grants.Strings(), Issuer: c.config.Runtime,
			Basis: schema.Refs(r.Basis.Facts...),
		}}
		f.PolicyRefs = schema.Refs(r.Basis.PolicyRefs...)
		facts = append(facts, f)
	}
	if err := run.Record(ctx, append(facts, run.resolved()...)...); err != nil {
		return nil, err
	}
	return run, nil
}

// root makes the run that r describes.
func (c *Client) root(r Run) (*RunContext, error) {
	switch {
	case r.Session == "":
		return nil, invalid("session", "must be named")
	case r.MaxDepth < 0:
		return nil, invalid("max depth", "must not be negative")
	case len(r.Grants) == 0 && len(r.Basis.Facts)+len(r.Basis.PolicyRefs) > 0:
		return nil, invalid("basis", "must come with the grants that were minted from it")
	}
	pressure, err := pressureOf(r.Pressure, nil)
	if err != nil {
		return nil, err
	}
	grants, err := c.config.GrantPolicy.Parse(r.Grants.Strings())
	if err != nil {
		return nil, err
	}
	limits, err := Limits(nil).Narrow(r.Limits)
	if err != nil {
		return nil, err
	}
	bindings, modes, err := c.resolve(r.Resources, nil)
	if err != nil {
		return nil, err
	}
	inherited, err := snapshot(r.InheritedMetadata)
	if err != nil {
		return nil, err
	}
	own, err := snapshot(r.Metadata)
	if err != nil {
		return nil, err
	}
	id, err := orNewID(r.ID)
	if err != nil {
		return nil, err
	}
	if r.Thread == "" {
		r.Thread = r.Session
	}
	log := c.log(r.Session, r.Thread)
	return &RunContext{
		client: c, maxDepth: r.MaxDepth, grants: grants, bindings: bindings, modes: modes, limits: limits,
		stores: union(nil, r.Stores), configurableKeys: union(nil, r.ConfigurableKeys),
		tags: slices.Clone(r.Tags), metadata: own,
		inheritedTags: slices.Clone(r.InheritedTags), inheritedMetadata: inherited, log: log, calls: &log.root,
		Account: newAccount(nil, limits), pressure: pressure, contextWrite: r.ContextWrite,
		IDs: r.Place.in(schema.Correlation{
			Agent: r.Agent, ResourceID: r.ResourceID, SessionID: r.Session, ThreadID: r.Thread, RunID: id, RootRunID: id,
		}),
	}, nil
}

func (r *RunContext) depth() int { return len(r.ancestors) }

func (r *RunContext) opened() *schema.ScopeOpened {
	f := &schema.ScopeOpened{
		RunID: r.IDs.RunID, ParentRunID: r.IDs.ParentRunID, RootRunID: r.IDs.RootRunID, ThreadID: r.IDs.ThreadID,
		ScopeKind: "agent", Depth: new(int64(r.depth())), MaxDepth: new(int64(r.maxDepth)),
		Tags: r.tags, InheritedTags: r.inheritedTags, LocalMetadata: r.metadata, InheritedMetadata: r.inheritedMetadata,
		ConfigurableKeys: r.configurableKeys, Limits: r.limits.recorded(), Stores: r.stores, ContextWrite: r.contextWrite,
	}
	if r.pressure != nil {
		f.PressurePolicy = facts.PressureRules(*r.pressure)
	}
	if r.depth() > 0 {
		f.ScopeKind, f.ParentThreadID = "subagent", r.parentThread
		f.ThreadOverridden = r.parentThread != r.IDs.ThreadID
	}
	return f
}

// Record queues any facts with the run's ids, in order, all or none; see
// [Client.Record].
func (r *RunContext) Record(ctx context.Context, facts ...schema.Fact) error {
	return r.record(ctx, r.IDs, nil, facts...)
}

// record queues facts. Used, where given, gets the sequences that they took.
func (r *RunContext) record(ctx context.Context, ids schema.Correlation, used func(sequence int64), facts ...schema.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	return r.client.record(ctx, ids, submission{facts: facts, used: used})
}

// Grants returns what the run may touch.
func (r *RunContext) Grants() grant.Set { return slices.Clone(r.grants) }

// Limits returns the limits in force, the parent's included.
func (r *RunContext) Limits() Limits { return maps.Clone(r.limits) }

// Stores returns the names of the stores that the run can reach.
func (r *RunContext) Stores() []string { return slices.Clone(r.stores) }

// Scope is what a run knows of itself, for models, tools and middleware. It is a
// copy; handles and the values of configurable keys are not in it.
type Scope struct {
	Session, Thread     string
	ParentThread        string // of the parent run; empty at the root
	Run, Parent, Root   string // run ids; Parent is empty at the root
	Agent, ResourceID   string
	Place               Place
	Depth, MaxDepth     int            // 0 is the root
	Tags, InheritedTags []string       // the run's own, and those that it passes on
	Metadata            map[string]any // the run's own, as JSON decodes it
	InheritedMetadata   map[string]any // what it passes on, too
}

// Scope returns what the run knows of itself.
func (r *RunContext) Scope() Scope {
	ids := r.IDs
	return Scope{
		Session: ids.SessionID, Thread: ids.ThreadID, ParentThread: r.parentThread,
		Run: ids.RunID, Parent: ids.ParentRunID, Root: ids.RootRunID, Agent: ids.Agent, ResourceID: ids.ResourceID,
		Place: Place{Task: ids.TaskID, Attempt: ids.AttemptID, Step: ids.StepID, ToolCall: ids.ToolCallID, Action: ids.ActionID},
		Depth: r.depth(), MaxDepth: r.maxDepth,
		Tags: slices.Clone(r.tags), InheritedTags: slices.Clone(r.inheritedTags),
		Metadata: restored(r.metadata), InheritedMetadata: restored(r.inheritedMetadata),
	}
}

// pressureOf is a copy of the policy that was asked for, or else the parent's.
func pressureOf(asked, above *window.Policy) (*window.Policy, error) {
	if asked == nil {
		return above, nil
	}
	policy := *asked
	policy.Steps = slices.Clone(policy.Steps)
	return &policy, policy.Validate()
}

// RunID returns the run's id.
func (r *RunContext) RunID() string { return r.IDs.RunID }

// union is a fresh list of the names in both, each once, in order.
func union(a, b []string) (all []string) {
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

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
			return nil, invalid("metadata", fmt.Sprintf("holds a %T, which JSON cannot hold", value))
		}
		copied[name] = jsontext.Value(encoded)
	}
	return copied, nil
}

// restored are the values of a snapshot.
func restored(metadata map[string]any) map[string]any {
	if len(metadata) == 0 {
		return nil
	}
	values := make(map[string]any, len(metadata))
	for name, value := range metadata {
		var v any
		_ = json.Unmarshal(value.(jsontext.Value), &v) // snapshot encoded it
		values[name] = v
	}
	return values
}
