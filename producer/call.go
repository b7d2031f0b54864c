package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrEmptyWindow means that a window without items was to be assembled or
// injected. Nothing is recorded: nothing was made, and nothing became visible.
var ErrEmptyWindow = errors.New("the window is empty")

// Call is one model call of a turn: a window, what went into it and what it
// cost. One call is not safe for concurrent use; several of a turn are.
type Call struct {
	turn     *Turn
	id       string
	assembly string // id of the model's recorded assembly, or ""
	passes   int    // elision passes so far
	reloads  int
	// receivers are those of other assemblies than the model's, by assembly id.
	receivers map[string]receiving

	// Selection says why Fit selects what it does. Set it before.
	Selection Selection
	// Tags are the call's own; [Call.Bill] records them.
	Tags []string
	// Offered says what Fit has to choose from beyond the items. Set it before.
	Offered Offered
	// Wrapping says how the window's text is put together. Set it before Assemble.
	Wrapping Wrapping
	// Reports are what layers say of their own size; [Call.Bill] records them beside
	// what is counted.
	Reports []LayerReport
}

// Offered is what a runtime knows of a surface beyond its items. What is left empty is
// unknown.
type Offered struct {
	Sources      []string            // that could be read: ids, or references in JSON
	Capabilities []string            // tools and skills that could be used
	Visibility   []schema.Visibility // who may see it; empty is the model
	ExpiresAt    time.Time           // until when; zero is no end
}

// surface is what a surface says of it.
func (o Offered) surface() schema.Surface {
	s := schema.Surface{AvailableSourceRefs: schema.Refs(o.Sources...), CapabilityRefs: schema.Refs(o.Capabilities...)}
	for _, who := range o.Visibility {
		s.Visibility = append(s.Visibility, string(who))
	}
	if !o.ExpiresAt.IsZero() {
		s.ExpiresAt = new(o.ExpiresAt.UTC())
	}
	return s
}

// Wrapping names the rules by which a request's text is made of items: ids, or
// references in JSON. How one item is wrapped is said by [window.Item].
type Wrapping struct {
	Policy    schema.Ref // how items are wrapped
	Separator schema.Ref // how blocks are told apart
}

// of is the receiver of a text that is put together so.
func (w Wrapping) of(r facts.Receiver) facts.Receiver {
	r.Wrapping, r.Separator = w.Policy, w.Separator
	return r
}

// Selection is what a runtime knows of a selection beyond its outcome. What is
// left empty is unknown. Scores are on the items: see [window.Item].
type Selection struct {
	Query     string     // what was looked for
	Intent    string     // what the query is for
	Actor     schema.Ref // who decided
	Rationale string     // why, for people
}

// Call begins a model call. Ids are unique in the session; an empty one is
// replaced by a UUIDv7.
func (t *Turn) Call(id string) *Call {
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	return &Call{turn: t, id: id}
}

// ID returns the call's id.
func (c *Call) ID() string { return c.id }

// Fit plans the call's window and records how it came about: the surface, the
// selection, each rung of the pressure ladder if it had to be climbed, and the
// budget; what one event cannot hold, in parts. All rungs are recorded, also
// those that were skipped or not enough. Where the request fits at once, no rung
// was used, and the budget alone says what was estimated (seed 000).
//
// Tool outputs that the ladder shortened are also recorded as an elision. It holds
// for later calls until one of them sends the whole item: go on with the plan's
// Window. A summary that the work wrote is recorded as a compaction and as an item
// of the size that the work gave. An item that the work itself added is not
// recorded again. [Call.FitWithSummary] also records the digest of the text.
//
// An empty policy stands for the run's policy, where the run has one. The budget names
// the rules of a window that did not fit at once.
//
// The work may be nil. If it panics, takes too long or gives nothing usable, that
// is the outcome of its rung, and the next rung follows.
//
// Errors: a *window.LimitError comes with the plan, and the facts are recorded;
// where it would name an item by a withheld value, a [*WithheldError] comes in
// its place, and nothing is recorded. With a *window.InvalidError nothing is,
// either, nor where ctx ends while the work runs: that is a [*WorkError], and
// there is no plan.
func (c *Call) Fit(ctx context.Context, items []window.Item, policy window.Policy, work Work) (window.Plan, error) {
	var ended error
	var asked window.Request
	plan, fitErr := c.plan(items, policy, noting(work.planned(ctx, &ended), &asked), &ended)
	if fitErr != nil && !errors.Is(fitErr, window.ErrContextLimit) {
		return plan, fitErr
	}
	arrivals, about, err := c.summarized(plan, asked)
	if err != nil {
		return plan, errors.Join(fitErr, err)
	}
	told := c.tell(items, plan)
	return plan, errors.Join(fitErr, told.recorded(c.turn.enter(ctx, arrivals, append(about, told.facts...)...)))
}

// about is what the facts of the call's plans share.
func (c *Call) about() facts.Call {
	model := c.turn.model.Name
	why := c.Selection
	return facts.Call{
		ID: c.id, Model: model, Estimator: c.turn.run.client.estimator(model),
		Query: why.Query, Intent: why.Intent, Actor: why.Actor, Rationale: why.Rationale, Offered: c.Offered.surface(),
	}
}

// estimator names what counts the tokens of a model.
func (c *Client) estimator(model string) string { return c.config.Counter.Count(model, "").Estimator }

// plan plans the window and records nothing. Any error but a *window.LimitError
// means that there is no plan to record.
func (c *Call) plan(items []window.Item, policy window.Policy, work window.Work, ended *error) (window.Plan, error) {
	if own := c.turn.run.pressure; own != nil && policy.IsZero() {
		policy = *own
	}
	plan, err := window.Fit(items, c.turn.model.Window, policy, work)
	switch {
	case *ended != nil:
		return window.Plan{}, fmt.Errorf("plan the window: %w", *ended)
	case errors.Is(err, window.ErrContextLimit):
		if withheld := c.turn.run.client.withheld.checkItems(items); withheld != nil { // the error names them
			return window.Plan{}, withheld
		}
		return plan, err
	case err != nil:
		return plan, c.hide(err)
	}
	return plan, nil
}

// checkItems refuses items whose ids hold withheld values.
func (w *withheld) checkItems(items []window.Item) error {
	for _, item := range items {
		if hits := w.guard().Check(item.ID); len(hits) > 0 {
			return &WithheldError{Field: "an item's id", PolicyRef: hits[0].PolicyRef}
		}
	}
	return nil
}

// hide is [withheld.hideError].
func (c *Call) hide(err error) error { return c.turn.run.client.withheld.hideError(err) }

// Receiver is who is to see an assembly.
type Receiver struct {
	Target   schema.Visibility // such as [schema.VisibleTool]; required
	ToolCall string            // the tool call that consumes the context; optional
}

// Assemble records the plan's window as ordered blocks for the model and
// returns the assembly, whole also where it was recorded in parts. The error is
// [ErrEmptyWindow] for a plan that selected nothing.
func (c *Call) Assemble(ctx context.Context, plan window.Plan) (*schema.AssemblyCreated, error) {
	asm, err := receiving{c.turn, c.Wrapping.of(facts.ToModel(c.id))}.assemble(ctx, plan)
	if err == nil {
		c.assembly = asm.AssemblyID
	}
	return asm, err
}

// AssembleFor is Assemble for another receiver than the model, such as a tool call
// that the call made. A receiver has one assembly a call. The error is an
// [*InvalidError] for a receiver without a target.
func (c *Call) AssembleFor(ctx context.Context, plan window.Plan, to Receiver) (*schema.AssemblyCreated, error) {
	if to.Target == "" {
		return nil, invalid("receiver", `must have a target, such as "tool"`)
	}
	turn := c.turn
	if to.ToolCall != "" {
		turn = turn.In(Place{ToolCall: to.ToolCall})
	}
	r := receiving{turn, c.Wrapping.of(facts.Receiver{Call: c.id, Target: string(to.Target), ToolCall: to.ToolCall})}
	asm, err := r.assemble(ctx, plan)
	if err != nil {
		return nil, err
	}
	if c.receivers == nil {
		c.receivers = make(map[string]receiving)
	}
	c.receivers[asm.AssemblyID] = r
	return asm, nil
}

// receiving is where the facts of a receiver are recorded.
type receiving struct {
	turn *Turn
	to   facts.Receiver
}

func (r receiving) assemble(ctx context.Context, plan window.Plan) (*schema.AssemblyCreated, error) {
	if len(plan.Window) == 0 {
		return nil, ErrEmptyWindow
	}
	parts := facts.AssemblyParts(r.to, plan)
	if err := r.turn.Record(ctx, facts.AsFacts(parts)...); err != nil {
		return nil, err
	}
	if len(parts) > 1 {
		return facts.AssemblyFact(r.to, facts.Blocks(r.to, plan)), nil
	}
	return parts[0], nil
}

// Inject records that an assembly became visible to its target. The items are
// those of the assembly, and the fact lists them where one event can hold them.
func (c *Call) Inject(ctx context.Context, asm *schema.AssemblyCreated, point schema.InjectionPoint) error {
	if asm == nil || len(asm.OrderedBlocks) == 0 {
		return fmt.Errorf("record %s: %w", schema.TypeInjectionApplied, ErrEmptyWindow)
	}
	r, other := c.receivers[asm.AssemblyID]
	if !other {
		r = receiving{c.turn, facts.ToModel(c.id)}
	}
	return r.turn.Record(ctx, facts.InjectionFact(r.to, asm, point))
}
