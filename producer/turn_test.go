package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

var small = Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100, ReservedOutput: 20}}

// ranged expands the ranges of an envelope.
func ranged(t *testing.T, f *schema.EnvelopeCreated) (all []int64) {
	t.Helper()
	if len(f.Sequences) != 1 {
		t.Fatalf("%d sources", len(f.Sequences))
	}
	last := int64(-1)
	for _, r := range f.Sequences[0].Ranges {
		if r[0] <= last+1 && last >= 0 {
			t.Errorf("range %v touches the one before it", r)
		}
		for n := r[0]; n <= r[1]; n++ {
			all = append(all, n)
		}
		last = r[1]
	}
	return all
}

// TestSealCoversItsTurn interleaves turns of several runs in one session, with facts
// outside of turns. Each envelope must list exactly its own facts.
func TestSealCoversItsTurn(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	run := open(t, client, Run{Session: "s", MaxDepth: 1})
	var wait sync.WaitGroup
	for n := range 6 {
		child, err := run.Child(t.Context(), Child{ID: fmt.Sprint("run", n)})
		if err != nil {
			t.Fatal(err)
		}
		turn := child.Turn(fmt.Sprint("turn", n), small)
		wait.Go(func() {
			var calls sync.WaitGroup
			for c := range 3 { // in parallel
				calls.Go(func() {
					call := turn.Call(fmt.Sprintf("call-%d-%d", n, c))
					item, err := turn.Add(t.Context(), Content{ID: fmt.Sprintf("m-%d-%d", n, c), Role: "user", Kind: window.KindMessage, Text: secretValue})
					if err != nil {
						t.Error(err)
						return
					}
					plan, err := call.Fit(t.Context(), []window.Item{item}, window.DefaultPolicy(), nil)
					if err != nil {
						t.Error(err)
						return
					}
					asm, err := call.Assemble(t.Context(), plan)
					if err != nil {
						t.Error(err)
						return
					}
					if err := errors.Join(
						call.Inject(t.Context(), asm, schema.InjectMessageHistory), call.Usage(t.Context(), plan, schema.ProviderUsage{}),
						child.Record(t.Context(), &schema.ItemRemoved{ItemID: "of no turn"}),
					); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if receipt, err := turn.Seal(t.Context()); err != nil || receipt.ContextID != "ctx:"+turn.ID() {
				t.Errorf("%s: %v", receipt.ContextID, err)
			}
		})
	}
	wait.Wait()
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := b.Events(t)
	bySequence(t, events)
	seals, several := 0, false
	for _, e := range events {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		envelope, ok := fact.(*schema.EnvelopeCreated)
		if !ok {
			continue
		}
		seals++
		var want []int64
		for _, other := range events {
			if other.TurnID == e.TurnID {
				want = append(want, *other.Sequence)
			}
		}
		if got := ranged(t, envelope); !slices.Equal(got, want) || want[len(want)-1] != *e.Sequence {
			t.Errorf("%s: sealed %v, not %v", e.TurnID, got, want)
		}
		several = several || len(envelope.Sequences[0].Ranges) > 1
		if len(envelope.ItemRefs) != 3 || len(envelope.SurfaceRefs) != 3 || len(envelope.InjectionRefs) != 3 || envelope.BudgetRef == "" {
			t.Errorf("%+v", envelope)
		}
	}
	if seals != 6 || !several {
		t.Errorf("%d seals; several ranges: %v", seals, several)
	}
}

// TestSealWaitsForTheStream cancels a seal while the server is unavailable: the turn is
// sealed once, as a whole, and a second call only waits.
func TestSealWaitsForTheStream(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits until the client connects again: run without -short")
	}
	b, stop, start := bustest.Restartable(t)
	client := newClient(t, b, func(c *Config) { c.Linger = time.Hour })
	turn := open(t, client, Run{Session: "s"}).Turn(`turn "7"`, small)
	if err := turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := turn.Seal(bustest.Within(t, 100*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a seal without a server: %v", err)
	}
	if err := turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "late"}); !errors.Is(err, ErrSealed) {
		t.Errorf("after the seal: %v", err)
	}
	if _, err := turn.Add(t.Context(), Content{ID: "late"}); !errors.Is(err, ErrSealed) {
		t.Errorf("after the seal: %v", err)
	}
	start()
	var err error
	for range 5 {
		if _, err = turn.Seal(bustest.Within(t, 20*time.Second)); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	events := b.Events(t) // no wait: Seal has returned
	seals := factsOf[*schema.EnvelopeCreated](t, b)
	if len(seals) != 1 || len(events) != 3 || !slices.Equal(ranged(t, seals[0]), []int64{2, 3}) {
		t.Fatalf("%d seals, %d events", len(seals), len(events))
	}
	if want := schema.Ref(`{"kind":"turn","id":"turn \"7\""}`); seals[0].RuntimeRefs[0] != want {
		t.Errorf("%s", seals[0].RuntimeRefs[0])
	}
}

func TestSealOfAVeryLongTurn(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	turn := open(t, client, Run{Session: "s"}).Turn("t", small)
	const n = 3_000
	for i := range n {
		if _, err := turn.Add(t.Context(), Content{ID: fmt.Sprintf("a long item id of a long turn %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	seal := factsOf[*schema.EnvelopeCreated](t, b)[0]
	if len(ranged(t, seal)) != n+1 || len(seal.ItemRefs) != 0 || seal.Metadata["refs_left_out"] != float64(n) {
		t.Errorf("%d sequences, %d refs, %v", len(ranged(t, seal)), len(seal.ItemRefs), seal.Metadata)
	}
}

// TestCallsWithNothing: nil and empty input gets an answer, and neither a refused nor an
// invented fact.
func TestCallsWithNothing(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	turn := open(t, client, Run{Session: "s"}).Turn("t", small)
	call := turn.Call("c")
	plan, err := call.Fit(t.Context(), nil, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if asm, err := call.Assemble(t.Context(), plan); !errors.Is(err, ErrEmptyWindow) || asm != nil {
		t.Errorf("Assemble: %v", err)
	}
	if err := call.Inject(t.Context(), nil, schema.InjectMessageHistory); !errors.Is(err, ErrEmptyWindow) {
		t.Errorf("Inject: %v", err)
	}
	if err := errors.Join(call.Elide(t.Context(), window.Pass{}), call.Usage(t.Context(), plan, schema.ProviderUsage{}), sealed(t, turn)); err != nil {
		t.Error(err)
	}
	if n := len(b.Events(t)); n != 6 { // scope, surface, selection, budget, usage, seal
		t.Errorf("%d events", n)
	}
	if usage := factsOf[*schema.UsageRecorded](t, b)[0]; usage.AssemblyID != "" {
		t.Errorf("the usage names %s, which is not recorded", usage.AssemblyID)
	}
	for _, bad := range [][]window.Item{{{ID: ""}}, {{ID: "a"}, {ID: "a"}}, {{ID: "a", Tokens: -1}}} {
		if _, err := open(t, client, Run{Session: "bad"}).Turn("t", small).Call("c").Fit(t.Context(), bad, window.DefaultPolicy(), nil); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestContextLimitIsRecorded(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	turn := open(t, client, Run{Session: "s"}).Turn("t", small)
	items := []window.Item{{ID: "system", Kind: window.KindFixed, Tokens: 70}, {ID: "doc", Kind: window.KindRetrieved, Tokens: 30}, {ID: "u", Kind: window.KindMessage, Role: "user", Tokens: 40}}
	plan, err := turn.Call("c").Fit(t.Context(), items, window.DefaultPolicy(), nil)
	var limit *window.LimitError
	if !errors.As(err, &limit) || len(limit.Remaining) != 2 || len(plan.Window) != 2 {
		t.Fatalf("%v", err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps := factsOf[*schema.PressureApplied](t, b)
	if len(steps) != 5 || steps[4].Outcome != schema.OutcomeFailed || *steps[4].TokensAfter != 110 {
		t.Errorf("%+v", steps)
	}
	budget := factsOf[*schema.BudgetApplied](t, b)
	if len(budget) != 1 || budget[0].OverflowStrategy != schema.OverflowReject {
		t.Errorf("%+v", budget)
	}
}

// TestLargeCallThroughTheStream records a window that is too large for one event.
func TestLargeCallThroughTheStream(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	turn := open(t, client, Run{Session: "s"}).Turn("t", Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000_000}})
	items := manyItems(2_000)
	call := turn.Call("c")
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := call.Assemble(t.Context(), plan)
	if err != nil || len(asm.OrderedBlocks) != 2_000 {
		t.Fatal(err)
	}
	if err := errors.Join(call.Inject(t.Context(), asm, schema.InjectMessageHistory), call.Usage(t.Context(), plan, schema.ProviderUsage{}), sealed(t, turn)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, part := range factsOf[*schema.AssemblyCreated](t, b) {
		n += len(part.OrderedBlocks)
	}
	seal := factsOf[*schema.EnvelopeCreated](t, b)[0]
	if n != 2_000 || len(seal.AssemblyRefs) != 1 || len(seal.SelectionRefs) != 1 || len(seal.SurfaceRefs) != 1 {
		t.Errorf("%d blocks; %+v", n, seal)
	}
	bySequence(t, b.Events(t))
}

func TestRedactionStatesOfContent(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, guarding(t))
	run := open(t, client, Run{Session: "s"})
	refs := make([]string, 1, 4)
	refs[0] = "policy:own"
	for _, c := range []Content{
		{ID: "plain", Text: "nothing"},
		{ID: "hit", Text: secretValue, PolicyRefs: refs},
		{ID: "named", Text: secretValue, PolicyRefs: []string{"policy:test"}},
		{ID: "blocked", Text: secretValue, Redaction: schema.RedactionPolicyBlocked, RedactionReason: "theirs"},
	} {
		if _, err := run.Add(t.Context(), "gpt-4o", c); err != nil {
			t.Fatal(err)
		}
	}
	if full := refs[:4]; full[1] != "" {
		t.Error("the caller's slice was written to")
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"plain": "  []", "hit": "masked secret [policy:own policy:test]", "named": "masked secret [policy:test]", "blocked": "policy_blocked theirs [policy:test]",
	}
	for _, f := range factsOf[*schema.ItemAdded](t, b) {
		if got := fmt.Sprint(f.RedactionState, " ", f.RedactionReason, " ", f.PolicyRefs); got != want[f.ItemID] {
			t.Errorf("%s is %q, not %q", f.ItemID, got, want[f.ItemID])
		}
	}
	if n := len(factsOf[*schema.RedactionApplied](t, b)); n != 3 {
		t.Errorf("%d redactions", n)
	}
}

// sealed seals a turn and returns only the error.
func sealed(t *testing.T, turn *Turn) error {
	t.Helper()
	receipt, err := turn.Seal(t.Context())
	if err == nil && receipt.Stored != publish.InStream {
		t.Errorf("the sealed turn is stored in %q", receipt.Stored)
	}
	return err
}
