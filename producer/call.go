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

// ErrEmptyWindow means that a window has no items and so cannot be assembled or injected.
// Nothing is recorded.
var ErrEmptyWindow = errors.New("the window is empty")

// Call is one model call of a turn: its window, the window's origin and its cost. One call
// is not safe for concurrent use. Several calls of a turn may run concurrently.
type Call struct {
	turn     *Turn
	id       string
	assembly string // id of the recorded assembly for the model, or ""
	passes   int    // number of elision passes
	reloads  int
	// receivers are the receivers of all assemblies except the model's, by assembly id.
	receivers map[string]receiving

	// Selection gives the reasons of the selection that Fit makes. Set it before Fit.
	Selection Selection
	// Tags are the tags of this call; [Call.Bill] records them.
	Tags []string
	// Offered lists the candidates of Fit in addition to the items. Set it before Fit.
	Offered Offered
	// Wrapping names the rules that build the window's text. Set it before Assemble.
	Wrapping Wrapping
	// Reports are the sizes that layers report of themselves. [Call.Bill] records them next
	// to the counted sizes.
	Reports []LayerReport
}

// Offered is the runtime's knowledge of a surface in addition to its items. Empty fields
// are unknown.
type Offered struct {
	Sources      []string            // sources that could be read: ids, or references in JSON
	Capabilities []string            // tools and skills that could be used
	Visibility   []schema.Visibility // receivers that may see the surface; empty means the model
	ExpiresAt    time.Time           // end of the surface; zero means no end
}

// surface returns the recorded form of o.
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

// Wrapping names the rules that build a request's text from items: ids, or references in
// JSON. [window.Item] names the wrapper of one item.
type Wrapping struct {
	Policy    schema.Ref // rule that wraps items
	Separator schema.Ref // rule that separates blocks
}

// of returns r with the rules of w.
func (w Wrapping) of(r facts.Receiver) facts.Receiver {
	r.Wrapping, r.Separator = w.Policy, w.Separator
	return r
}

// Selection is the runtime's knowledge of a selection in addition to its outcome. Empty
// fields are unknown. Scores are fields of the items: see [window.Item].
type Selection struct {
	Query     string     // text that was searched for
	Intent    string     // purpose of the query
	Actor     schema.Ref // who decided
	Rationale string     // reason, for people
}

// Call begins a model call. Ids are unique in the session. An empty id is replaced by a
// UUIDv7.
func (t *Turn) Call(id string) *Call {
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	return &Call{turn: t, id: id}
}

// ID returns the call's id.
func (c *Call) ID() string { return c.id }

// Fit plans the call's window and records the plan: the surface, the selection, the rungs
// of the pressure ladder, and the budget. A record that does not fit into one event is
// split into parts. If the request fits without the ladder, Fit records no rung, and the
// budget holds the estimate (seed 000). Otherwise all rungs are recorded, including skipped
// and insufficient ones.
//
// Tool outputs that the ladder shortened are also recorded as an elision. The elision holds
// for later calls until one of them sends the whole item. Continue with the plan's Window.
// A summary that the work wrote is recorded as a compaction and as an item. The item has
// the size that the work gave. An item that the work itself added is not recorded again.
// [Call.FitWithSummary] also records the digest of the text.
//
// An empty policy means the run's policy, if the run has one. If the ladder ran, the budget
// names its rules.
//
// The work may be nil. If the work panics, takes too long or returns nothing usable, the
// rung records this outcome, and the next rung follows.
//
// A *window.LimitError comes with the plan, and the facts are recorded. If its text would
// hold a withheld value as an item's id, Fit returns a [*WithheldError] and records
// nothing. Fit also records nothing with a *window.InvalidError. If ctx ends while the work
// runs, Fit returns a [*WorkError] without a plan and records nothing.
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

// about returns the fields that the facts of the call's plans share.
func (c *Call) about() facts.Call {
	model := c.turn.model.Name
	why := c.Selection
	return facts.Call{
		ID: c.id, Model: model, Estimator: c.turn.run.client.estimator(model),
		Query: why.Query, Intent: why.Intent, Actor: why.Actor, Rationale: why.Rationale, Offered: c.Offered.surface(),
	}
}

// estimator returns the name of the counter that counts the tokens of a model.
func (c *Client) estimator(model string) string { return c.config.Counter.Count(model, "").Estimator }

// plan plans the window and records nothing. After any error except a *window.LimitError
// there is no plan to record.
func (c *Call) plan(items []window.Item, policy window.Policy, work window.Work, ended *error) (window.Plan, error) {
	if own := c.turn.run.pressure; own != nil && policy.IsZero() {
		policy = *own
	}
	plan, err := window.Fit(items, c.turn.model.Window, policy, work)
	switch {
	case *ended != nil:
		return window.Plan{}, fmt.Errorf("plan the window: %w", *ended)
	case errors.Is(err, window.ErrContextLimit):
		if withheld := c.turn.run.client.withheld.checkItems(items); withheld != nil { // the error names the items
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

// Receiver is the reader of an assembly.
type Receiver struct {
	Target   schema.Visibility // such as [schema.VisibleTool]; required
	ToolCall string            // the tool call that consumes the context; optional
}

// Assemble records the plan's window as ordered blocks for the model and returns the
// assembly. The returned assembly is whole, even if it was recorded in parts. The error is
// [ErrEmptyWindow] for a plan that selected nothing.
func (c *Call) Assemble(ctx context.Context, plan window.Plan) (*schema.AssemblyCreated, error) {
	asm, err := receiving{c.turn, c.Wrapping.of(facts.ToModel(c.id))}.assemble(ctx, plan)
	if err == nil {
		c.assembly = asm.AssemblyID
	}
	return asm, err
}

// AssembleFor is Assemble for a receiver other than the model, such as a tool call that the
// call made. A receiver has one assembly per call. The error is an [*InvalidError] for a
// receiver without a target.
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

// receiving is the turn and the receiver under which an assembly's facts are recorded.
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

// Inject records that an assembly became visible to its target. The items are the items of
// the assembly. The fact lists them if one event can hold them.
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
