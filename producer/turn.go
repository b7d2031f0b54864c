package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrSealed means that a turn was sealed: its envelope lists what happened, so
// nothing more can happen in it.
var ErrSealed = errors.New("the turn is sealed")

// Model is what a call is made to. Its window and tokenizer decide what fits.
type Model struct {
	Name   string
	Window window.Budget
}

// Turn is one user turn of a run. It gathers what its seal will list. Safe for
// concurrent use, so calls of a turn may run in parallel.
type Turn struct {
	run   *RunContext
	model Model
	ids   schema.Correlation

	mu     sync.Mutex // guards what follows; held while a fact is recorded
	seal   schema.EnvelopeCreated
	used   [][2]int64 // sequences of the turn's facts, as closed ranges in order
	sealed bool
}

// Turn begins a turn. Recording it costs nothing until something happens.
func (r *RunContext) Turn(id string, m Model) *Turn {
	t := &Turn{run: r, model: m, ids: r.ids}
	t.ids.TurnID, t.ids.ContextID = id, "ctx:"+id
	return t
}

// Record queues any fact with the turn's ids; see [Client.Record]. The error is
// [ErrSealed] after Seal.
func (t *Turn) Record(ctx context.Context, fact schema.Fact) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record(ctx, fact)
}

// record is Record; the caller holds mu.
func (t *Turn) record(ctx context.Context, fact schema.Fact) error {
	if t.sealed {
		return fmt.Errorf("record %s: %w", fact.EventType(), ErrSealed)
	}
	if err := t.run.record(ctx, fact, t.ids, t.use); err != nil {
		return err
	}
	t.note(fact)
	return nil
}

// Add is [RunContext.Add] for content that came in during the turn: its facts
// carry the turn's id, and the seal covers them.
func (t *Turn) Add(ctx context.Context, c Content) (window.Item, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return window.Item{}, ErrSealed
	}
	item, err := t.run.add(ctx, t.model.Name, c, t.ids, t.use)
	if err == nil {
		t.seal.ItemRefs = append(t.seal.ItemRefs, schema.Ref(c.ID))
	}
	return item, err
}

// use notes that a fact of the turn has this sequence, which is above all
// before it.
func (t *Turn) use(sequence int64) {
	if n := len(t.used); n > 0 && t.used[n-1][1] == sequence-1 {
		t.used[n-1][1] = sequence
		return
	}
	t.used = append(t.used, [2]int64{sequence, sequence})
}

// note keeps what the seal lists of a fact. The parts of a split one are one.
func (t *Turn) note(fact schema.Fact) {
	add := func(list *[]schema.Ref) {
		ref := schema.Ref(fact.RecordID())
		if n := len(*list); n == 0 || (*list)[n-1] != ref {
			*list = append(*list, ref)
		}
	}
	s := &t.seal
	switch fact.(type) {
	case *schema.SurfaceCreated:
		add(&s.SurfaceRefs)
	case *schema.SelectionCompleted:
		add(&s.SelectionRefs)
	case *schema.BudgetApplied:
		s.BudgetRef = schema.Ref(fact.RecordID())
	case *schema.AssemblyCreated:
		add(&s.AssemblyRefs)
	case *schema.InjectionApplied:
		add(&s.InjectionRefs)
	case *schema.CompactionCompleted:
		add(&s.CompactionRefs)
	case *schema.MissingDetected:
		add(&s.MissingContextRefs)
	}
}

// Missing records a gap and that its owner was asked, and sends both at once,
// since somebody is waiting for them. Owner, action and a summary that is safe
// to show are required. An error of [Client.Flush] leaves both facts queued; one
// of [Client.Record] records nothing more.
func (t *Turn) Missing(ctx context.Context, m schema.Missing) error {
	t.mu.Lock()
	m.Status = schema.StatusOpen
	err := t.record(ctx, &schema.MissingDetected{Missing: m})
	if err == nil {
		m.Status = schema.StatusRequested
		err = t.record(ctx, &schema.MissingRequested{Missing: m})
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	return t.run.client.Flush(ctx)
}

// Seal records the turn's envelope, its last fact, which lists what happened
// and exactly the sequences that the turn's facts used, its own included, and
// returns once the stream has stored all of it. With an error of the wait the
// envelope is queued and the turn is sealed: call Seal again to wait again.
func (t *Turn) Seal(ctx context.Context) error {
	if err := t.recordSeal(ctx); err != nil {
		return err
	}
	if err := t.run.client.Flush(ctx); err != nil {
		return fmt.Errorf("store the sealed turn: %w", err)
	}
	return nil
}

func (t *Turn) recordSeal(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return nil
	}
	id, err := json.Marshal(t.ids.TurnID)
	if err != nil {
		return fmt.Errorf("encode the turn's id: %w", err)
	}
	seal := t.seal
	seal.ContextID, seal.Scope, seal.Lifecycle = t.ids.ContextID, "turn", schema.LifecycleInjected
	seal.Producer = schema.Ref(t.run.client.Source())
	seal.RuntimeRefs = []schema.Ref{schema.Ref(`{"kind":"turn","id":` + string(id) + `}`)}
	err = t.submitSeal(ctx, &seal)
	if tooLarge(err) {
		leaveOutRefs(&seal)
		err = t.submitSeal(ctx, &seal)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", seal.EventType(), err)
	}
	t.sealed = true
	return nil
}

func (t *Turn) submitSeal(ctx context.Context, seal *schema.EnvelopeCreated) error {
	before := t.used[:len(t.used):len(t.used)]
	err := t.run.client.record(ctx, t.ids, submission{
		numbered: func(sequence int64) schema.Fact {
			t.used = append([][2]int64(nil), before...)
			t.use(sequence)
			seal.Sequences = []schema.SequenceRanges{{Source: t.run.client.Source(), Ranges: t.used}}
			return seal
		},
	})
	if err != nil {
		t.used = before
	}
	return err
}

// tooLarge reports whether a fact was refused for its size alone.
func tooLarge(err error) bool {
	var violations schema.Violations
	return errors.As(err, &violations) && len(violations) == 1 && violations[0].Code == schema.CodeTooLarge
}

// leaveOutRefs takes the lists out of an envelope that is too large for one
// event, and says so in it. The facts of the sequences name the same records.
func leaveOutRefs(seal *schema.EnvelopeCreated) {
	n := 0
	for _, list := range []*[]schema.Ref{
		&seal.SurfaceRefs, &seal.ItemRefs, &seal.SelectionRefs, &seal.AssemblyRefs, &seal.InjectionRefs, &seal.CompactionRefs, &seal.MissingContextRefs,
	} {
		n += len(*list)
		*list = nil
	}
	seal.Metadata = map[string]any{"refs_left_out": n}
}
