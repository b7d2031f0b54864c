package producer

import (
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Model is what a call is made to. Its window and tokenizer decide what fits.
type Model struct {
	Name   string
	Window window.Budget
}

// Turn is one user turn of a run. It gathers what its seal will list, and is
// not safe for concurrent use.
type Turn struct {
	run   *RunContext
	model Model
	ids   schema.Correlation
	seal  schema.EnvelopeCreated
	first int64 // the sequence before the turn's first fact
}

// Turn begins a turn. Recording it costs nothing until something happens.
func (r *RunContext) Turn(id string, m Model) *Turn {
	t := &Turn{run: r, model: m, ids: r.ids, first: r.client.used(r.ids.SessionID)}
	t.ids.TurnID, t.ids.ContextID = id, "ctx:"+id
	return t
}

// Record queues any fact with the turn's ids.
func (t *Turn) Record(ctx context.Context, fact schema.Fact) error {
	return t.run.record(ctx, fact, t.ids)
}

// Call is one model call of a turn: a window, what went into it and what it
// cost. Not safe for concurrent use.
type Call struct {
	turn *Turn
	id   string
}

// Call begins a model call. Ids are unique in the session.
func (t *Turn) Call(id string) *Call { return &Call{turn: t, id: id} }

// Fit plans the call's window and records how it came about: the surface, the
// selection, each rung of the pressure ladder if it had to be climbed, and the
// budget. A *window.LimitError comes with the plan, and the facts are recorded.
func (c *Call) Fit(ctx context.Context, items []window.Item, policy window.Policy, work window.Work) (window.Plan, error) {
	plan, fitErr := window.Fit(items, c.turn.model.Window, policy, work)
	if fitErr != nil && len(plan.Steps) == 0 {
		return plan, fitErr
	}
	for _, fact := range planFacts(c.id, c.turn.model.Name, items, plan) {
		if err := c.record(ctx, fact); err != nil {
			return plan, err
		}
	}
	return plan, fitErr
}

// Assemble records the plan's window as ordered blocks for the model.
func (c *Call) Assemble(ctx context.Context, plan window.Plan) (*schema.AssemblyCreated, error) {
	asm := assemblyFact(c.id, plan)
	return asm, c.record(ctx, asm)
}

// Inject records that an assembly became visible to the model.
func (c *Call) Inject(ctx context.Context, asm *schema.AssemblyCreated, point schema.InjectionPoint) error {
	tokens := int64(0)
	for _, b := range asm.OrderedBlocks {
		tokens += *b.Tokens
	}
	return c.record(ctx, &schema.InjectionApplied{Injection: schema.Injection{
		InjectionID: "inject:" + c.id, CallID: c.id, AssemblyID: asm.AssemblyID, Target: asm.Target, InjectionPoint: point,
		InjectionKind: "window", ItemRefs: asm.SourceItemRefs, Tokens: &tokens,
	}})
}

// Elide records a planned pass over the window.
func (c *Call) Elide(ctx context.Context, pass window.Pass) error {
	return c.record(ctx, elisionFact(c.id, pass, c.turn.run.log.position))
}

// Usage records the call's window by layer, and what the provider billed where
// it said so.
func (c *Call) Usage(ctx context.Context, plan window.Plan, billed schema.ProviderUsage) error {
	f := usageFact(c.id, c.turn.model.Name, plan)
	f.Usage, f.LineageID, f.AssemblyID = billed, c.turn.ids.ThreadID, "assembly:"+c.id
	return c.record(ctx, f)
}

// record queues a fact and notes it for the seal.
func (c *Call) record(ctx context.Context, fact schema.Fact) error {
	if err := c.turn.Record(ctx, fact); err != nil {
		return err
	}
	c.turn.note(fact)
	return nil
}

func (t *Turn) note(fact schema.Fact) {
	ref, s := schema.Ref(fact.RecordID()), &t.seal
	switch fact.(type) {
	case *schema.SurfaceCreated:
		s.SurfaceRefs = append(s.SurfaceRefs, ref)
	case *schema.SelectionCompleted:
		s.SelectionRefs = append(s.SelectionRefs, ref)
	case *schema.BudgetApplied:
		s.BudgetRef = ref
	case *schema.AssemblyCreated:
		s.AssemblyRefs = append(s.AssemblyRefs, ref)
	case *schema.InjectionApplied:
		s.InjectionRefs = append(s.InjectionRefs, ref)
	case *schema.CompactionCompleted:
		s.CompactionRefs = append(s.CompactionRefs, ref)
	case *schema.MissingDetected:
		s.MissingContextRefs = append(s.MissingContextRefs, ref)
	}
}

// Compact records that a summary now stands for a stretch of the conversation,
// and the summary itself.
func (c *Call) Compact(ctx context.Context, done *schema.CompactionCompleted, summary *schema.SummaryCreated) error {
	done.CallID = c.id
	if err := c.record(ctx, summary); err != nil {
		return err
	}
	return c.record(ctx, done)
}

// Missing records a gap and, at once, that its owner was asked. Owner, action
// and a summary that is safe to show are required.
func (t *Turn) Missing(ctx context.Context, m schema.Missing) error {
	m.Status = schema.StatusOpen
	detected := &schema.MissingDetected{Missing: m}
	if err := t.Record(ctx, detected); err != nil {
		return err
	}
	t.note(detected)
	m.Status = schema.StatusRequested
	if err := t.Record(ctx, &schema.MissingRequested{Missing: m}); err != nil {
		return err
	}
	return t.run.client.Flush(ctx) // somebody is waiting for it
}

// Seal records the turn's envelope, its last fact, which lists what happened
// and the sequences it used, and returns once the stream has stored all of it.
func (t *Turn) Seal(ctx context.Context) error {
	seal := t.seal
	seal.ContextID, seal.Scope, seal.Lifecycle = t.ids.ContextID, "turn", schema.LifecycleInjected
	seal.Producer = schema.Ref(t.run.client.Source())
	seal.RuntimeRefs = []schema.Ref{schema.Ref(fmt.Sprintf(`{"kind":"turn","id":%q}`, t.ids.TurnID))}
	last := t.run.client.used(t.ids.SessionID) + 1
	seal.Sequences = []schema.SequenceRanges{{Source: t.run.client.Source(), Ranges: [][2]int64{{t.first + 1, last}}}}
	if err := t.Record(ctx, &seal); err != nil {
		return err
	}
	return t.run.client.Flush(ctx)
}
