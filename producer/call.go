package producer

import (
	"context"
	"errors"
	"fmt"

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
	assembly string // id of the recorded assembly, or ""
}

// Call begins a model call. Ids are unique in the session.
func (t *Turn) Call(id string) *Call { return &Call{turn: t, id: id} }

// Fit plans the call's window and records how it came about: the surface, the
// selection, each rung of the pressure ladder if it had to be climbed, and the
// budget; what one event cannot hold, in parts. A *window.LimitError comes with
// the plan, and the facts are recorded; where it would name an item by a
// withheld value, a [*WithheldError] comes in its place, and nothing is
// recorded. With a *window.InvalidError nothing is, either.
func (c *Call) Fit(ctx context.Context, items []window.Item, policy window.Policy, work window.Work) (window.Plan, error) {
	plan, fitErr := window.Fit(items, c.turn.model.Window, policy, work)
	if fitErr != nil {
		if !errors.Is(fitErr, window.ErrContextLimit) {
			return plan, c.turn.run.client.hideError(fitErr)
		}
		if err := c.checkIDs(items); err != nil { // the error names them
			return window.Plan{}, err
		}
	}
	for _, fact := range planFacts(c.id, c.turn.model.Name, items, plan) {
		if err := c.turn.Record(ctx, fact); err != nil {
			return plan, errors.Join(fitErr, err)
		}
	}
	return plan, fitErr
}

// checkIDs refuses items whose ids hold withheld values.
func (c *Call) checkIDs(items []window.Item) error {
	for _, item := range items {
		if hits := c.turn.run.client.config.Guard.Check(item.ID); len(hits) > 0 {
			return &WithheldError{Field: "an item's id", PolicyRef: hits[0].PolicyRef}
		}
	}
	return nil
}

// Assemble records the plan's window as ordered blocks for the model and
// returns the assembly, whole also where it was recorded in parts. The error is
// [ErrEmptyWindow] for a plan that selected nothing.
func (c *Call) Assemble(ctx context.Context, plan window.Plan) (*schema.AssemblyCreated, error) {
	if len(plan.Window) == 0 {
		return nil, ErrEmptyWindow
	}
	parts := assemblyParts(c.id, plan)
	for _, part := range parts {
		if err := c.turn.Record(ctx, part); err != nil {
			return nil, err
		}
	}
	whole := parts[0]
	if len(parts) > 1 {
		whole = assemblyFact(c.id, blocks(c.id, plan))
	}
	c.assembly = whole.AssemblyID
	return whole, nil
}

// Inject records that an assembly became visible to the model. The items are
// those of the assembly, and the fact lists them where one event can hold them.
func (c *Call) Inject(ctx context.Context, asm *schema.AssemblyCreated, point schema.InjectionPoint) error {
	if asm == nil || len(asm.OrderedBlocks) == 0 {
		return fmt.Errorf("record %s: %w", schema.TypeInjectionApplied, ErrEmptyWindow)
	}
	return c.turn.Record(ctx, injectionFact(c.id, asm, point))
}

// Elide records a planned pass over the window. A pass that elided nothing is
// no fact, and nothing is recorded.
func (c *Call) Elide(ctx context.Context, pass window.Pass) error {
	for _, fact := range elisionParts(c.id, pass, c.turn.run.log.position) {
		if err := c.turn.Record(ctx, fact); err != nil {
			return err
		}
	}
	return nil
}

// Usage records the call's window by layer, and what the provider billed where
// it said so.
func (c *Call) Usage(ctx context.Context, plan window.Plan, billed schema.ProviderUsage) error {
	f := usageFact(c.id, c.turn.model.Name, plan)
	f.Usage, f.LineageID, f.AssemblyID = billed, c.turn.ids.ThreadID, c.assembly
	return c.turn.Record(ctx, f)
}

// Compact records that a summary now stands for a stretch of the conversation,
// and the summary itself.
func (c *Call) Compact(ctx context.Context, done *schema.CompactionCompleted, summary *schema.SummaryCreated) error {
	done.CallID = c.id
	if err := c.turn.Record(ctx, summary); err != nil {
		return err
	}
	return c.turn.Record(ctx, done)
}
