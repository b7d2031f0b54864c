package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrSealed means that a turn is sealed. Its envelope lists all facts of the turn, so no
// more facts are possible.
var ErrSealed = errors.New("the turn is sealed")

// Model is the model of a call. Its window and tokenizer decide which items fit.
type Model struct {
	Name   string
	Window window.Budget
}

// Turn is one user turn of a run. Turn collects the list of facts for its seal. Safe for
// concurrent use, so calls of a turn may run in parallel.
type Turn struct {
	run   *RunContext
	model Model
	IDs   schema.Correlation
	*gathered
}

// gathered is the state that a turn and its views share.
type gathered struct {
	ids    schema.Correlation // ids of the envelope
	mu     sync.Mutex         // guards the fields below; held while a fact is recorded
	seal   schema.EnvelopeCreated
	used   [][2]int64      // sequences of the turn's facts, as closed ranges in order
	added  map[string]bool // ids of items
	sealed bool
}

// Turn begins a turn. Ids are unique in the session. An empty id is replaced by a UUIDv7. A
// turn without facts is not recorded.
func (r *RunContext) Turn(id string, m Model) *Turn {
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	ids := r.IDs
	ids.TurnID, ids.ContextID = id, "ctx:"+id
	return &Turn{run: r, model: r.limits.bound(m), IDs: ids, gathered: &gathered{ids: ids, added: make(map[string]bool)}}
}

// In returns a view of the turn. Its facts also have the ids of a place in the work, such
// as a step or a tool call. The calls and gaps of the view have these ids too. The turn and
// its views have one seal.
func (t *Turn) In(p Place) *Turn {
	return &Turn{run: t.run, model: t.model, IDs: p.in(t.IDs), gathered: t.gathered}
}

// Tag adds tags to the turn, which its seal records. The error is [ErrSealed] after Seal.
func (t *Turn) Tag(tags ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	t.seal.Tags = union(t.seal.Tags, tags)
	return nil
}

// ID returns the turn's id.
func (t *Turn) ID() string { return t.IDs.TurnID }

// Record queues any facts with the turn's ids, in order, all or none; see
// [Client.Record]. The error is [ErrSealed] after Seal.
func (t *Turn) Record(ctx context.Context, facts ...schema.Fact) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	if err := t.run.record(ctx, t.IDs, t.use, facts...); err != nil {
		return err
	}
	for _, fact := range facts {
		t.note(fact)
	}
	return nil
}

// Add is [RunContext.Add] for content of the turn. Its facts have the turn's id, and the
// seal covers them. An id that the turn has already added gives an [*InvalidError].
func (t *Turn) Add(ctx context.Context, c Content) (window.Item, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return window.Item{}, ErrSealed
	}
	if t.added[c.ID] {
		return window.Item{}, invalid("content id", "is already the id of another item of the turn")
	}
	item, err := t.run.add(ctx, t.model.Name, c, t.IDs, t.use)
	if err == nil {
		t.added[c.ID] = true
		t.seal.ItemRefs = append(t.seal.ItemRefs, schema.Ref(c.ID))
	}
	return item, err
}

// use records the sequence of a fact of the turn, which is above all earlier ones.
func (t *Turn) use(sequence int64) {
	if n := len(t.used); n > 0 && t.used[n-1][1] == sequence-1 {
		t.used[n-1][1] = sequence
		return
	}
	t.used = append(t.used, [2]int64{sequence, sequence})
}

// note collects the seal's entries for a fact. All parts of a split fact give one entry.
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

// Receipt describes a sealed turn and the place where it is stored.
type Receipt struct {
	ContextID string // id of the envelope
	// Sequences are the sequences of the turn's facts, as closed ranges in order. The
	// envelope's sequence is the last.
	Sequences [][2]int64
	Stored    publish.Stored
}

// Seal records the turn's envelope as its last fact and returns when the whole turn is
// stored. The envelope lists the turn's records and the sequences of its facts, including
// its own. The receipt names the place. If the wait fails, the envelope is queued and the
// turn is sealed: call Seal again to wait again.
func (t *Turn) Seal(ctx context.Context) (Receipt, error) {
	receipt, err := t.recordSeal(ctx)
	if err != nil {
		return Receipt{}, err
	}
	if receipt.Stored, err = t.run.client.transport.Store(ctx); err != nil {
		return Receipt{}, fmt.Errorf("store the sealed turn: %w", err)
	}
	return receipt, nil
}

func (t *Turn) recordSeal(ctx context.Context) (Receipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return t.receipt(), nil
	}
	id, err := json.Marshal(t.ids.TurnID)
	if err != nil {
		return Receipt{}, fmt.Errorf("encode the turn's id: %w", err)
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
		return Receipt{}, fmt.Errorf("record %s: %w", seal.EventType(), err)
	}
	t.sealed = true
	return t.receipt(), nil
}

// receipt returns the receipt of the sealed turn; the caller holds mu.
func (t *Turn) receipt() Receipt {
	return Receipt{ContextID: t.ids.ContextID, Sequences: slices.Clone(t.used)}
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

// tooLarge reports whether a fact was refused only because of its size.
func tooLarge(err error) bool {
	var violations schema.Violations
	return errors.As(err, &violations) && len(violations) == 1 && violations[0].Code == schema.CodeTooLarge
}

// leaveOutRefs removes the lists of an envelope that is too large for one event, and marks
// the envelope. The facts of the listed sequences name the same records.
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
