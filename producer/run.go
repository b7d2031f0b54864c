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

// Run describes a root run to open (seed 000). Only Session is required.
type Run struct {
	ID         string // defaults to a UUIDv7
	Session    string // the durable container of the work; required
	Thread     string // defaults to Session
	Agent      string // the agent's name
	ResourceID string // owner of the data
	Place      Place  // managed task and attempt that the run works on
	Program    string // name and version of the runtime
	Grants     grant.Set
	Resources  []Resource // resources that the agent's manifest declares
	Limits     Limits
	Stores     []string // names of the stores that the run can reach
	// MaxDepth is the largest depth of nested children; 0 allows no children.
	MaxDepth int
	// Tags and Metadata belong to this run; the inherited ones go to children. Metadata
	// holds values that JSON can encode. Metadata must not hold handles.
	Tags, InheritedTags         []string
	Metadata, InheritedMetadata map[string]any
	// ConfigurableKeys names configurable values. The values stay with the runtime. No
	// field takes a value that lives only at run time, so no fact can hold one.
	ConfigurableKeys []string
	// Pressure is the default policy for windows of the run and of the runs below it. Nil
	// means no default policy.
	Pressure *window.Policy
	// Basis names the origin of the grants: the authenticated facts, such as "user:u_1",
	// and the policies.
	Basis Basis
	// ContextWrite reports whether the agent's output goes back to its scratchpads. Nil
	// means unknown. If it is false, [Turn.WriteScratchpad] is refused.
	ContextWrite *bool
}

// Basis is the origin of a run's grants, given by trusted code: ids, or references in JSON.
//
// Source: seed 002 (namespace grants).
type Basis struct {
	Facts      []string // for example a user, a workspace, a tenant, a service identity
	PolicyRefs []string
}

// Place is the position of a run, a turn or a part of a turn in the work. Empty fields are
// inherited from the enclosing place. The order is task, attempt, step, tool call, action.
// A place with its own value at one level inherits nothing below this level.
//
// Source: seed 001 (runtime ids).
type Place struct {
	Task, Attempt string // the managed task, and the number of the attempt
	Step          string // the runtime's step
	ToolCall      string // tool call that consumed context
	Action        string // action of a person or a policy that requested more context
}

// in returns ids with the ids of the place.
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

// RunContext is one run. RunContext is immutable and safe for concurrent use. RunContext
// shares no memory with its arguments, and a child gets copies. Neither a child nor a
// caller can change it. [Client.Open] and [RunContext.Child] make a RunContext; the zero
// value is not usable.
//
// Every method takes a context.Context for cancellation, and a RunContext holds no context.
// A child ends with its parent if the caller derives the child's context from the parent's.
// The parent does not end with the child. No run opens under an ended context. Other facts
// are recorded under an ended context too.
type RunContext struct {
	client            *Client
	IDs               schema.Correlation
	parentThread      string
	ancestors         []string // run ids, from the root to the parent
	maxDepth          int
	grants            grant.Set
	bindings          map[string]Binding    // by name
	modes             map[string]grant.Mode // by kind; upper bounds of a child's modes
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
	calls             *facts.Lineage // lineage of calls that share a prompt cache
	Account           *Account       // use of the run and of the runs below it
}

// Open records a root run, its grants and its declared resources. With an error nothing is
// recorded, and there is no run. The error is an [*InvalidError] for invalid fields, and a
// [*grant.Error] for a malformed grant or a grant that Config.GrantPolicy protects. Other
// errors are the cause of an ended ctx and errors of [Client.Record].
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

// root returns the run that r describes.
func (c *Client) root(r Run) (*RunContext, error) {
	switch {
	case r.Session == "":
		return nil, invalid("session", "must be named")
	case r.MaxDepth < 0:
		return nil, invalid("max depth", "must not be negative")
	case len(r.Grants) == 0 && len(r.Basis.Facts)+len(r.Basis.PolicyRefs) > 0:
		return nil, invalid("basis", "must come with the grants that it is the origin of")
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

// Record queues any facts with the run's ids, in order, all or none; see [Client.Record].
func (r *RunContext) Record(ctx context.Context, facts ...schema.Fact) error {
	return r.record(ctx, r.IDs, nil, facts...)
}

// record queues facts. record passes their sequences to used, if used is not nil.
func (r *RunContext) record(ctx context.Context, ids schema.Correlation, used func(sequence int64), facts ...schema.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	return r.client.record(ctx, ids, submission{facts: facts, used: used})
}

// Grants returns the namespaces that the run may access.
func (r *RunContext) Grants() grant.Set { return slices.Clone(r.grants) }

// Limits returns the limits in force, including the parent's.
func (r *RunContext) Limits() Limits { return maps.Clone(r.limits) }

// Stores returns the names of the stores that the run can reach.
func (r *RunContext) Stores() []string { return slices.Clone(r.stores) }

// Scope describes a run to models, tools and middleware. Scope is a copy and holds no
// handles and no values of configurable keys.
type Scope struct {
	Session, Thread     string
	ParentThread        string // thread of the parent run; empty at the root
	Run, Parent, Root   string // run ids; Parent is empty at the root
	Agent, ResourceID   string
	Place               Place
	Depth, MaxDepth     int            // 0 is the root
	Tags, InheritedTags []string       // the run's own tags, and the tags that it passes on
	Metadata            map[string]any // the run's own metadata, decoded from JSON
	InheritedMetadata   map[string]any // the metadata that it passes on
}

// Scope returns the description of the run.
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

// pressureOf returns a copy of the requested policy, or of the parent's policy by default.
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

// union returns a new list of the names in both lists, each once, in order.
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

// snapshot encodes each value, so no holder of a map or slice can change the facts. The
// error quotes no values.
func snapshot(metadata map[string]any) (map[string]any, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	copied := make(map[string]any, len(metadata))
	for name, value := range metadata {
		encoded, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return nil, invalid("metadata", fmt.Sprintf("holds a %T, which JSON cannot encode", value))
		}
		copied[name] = jsontext.Value(encoded)
	}
	return copied, nil
}

// restored returns the values of a snapshot.
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
