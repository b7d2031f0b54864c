package producer_test

import (
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestBudgetNamesItsEstimator compares the budget's estimator with the estimator of the
// items, also for a model without a public tokenizer.
func TestBudgetNamesItsEstimator(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-4o", "a model of our own"} {
		client, rec := producertest.New(t)
		turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: model, Window: window.Budget{MaxTokens: 100}})
		items := add(t, turn, nil, say("u1", "user", "Hello."))
		if _, err := turn.Call("c").Fit(t.Context(), items, window.DefaultPolicy(), nil); err != nil {
			t.Fatal(err)
		}
		item := producertest.One[*schema.ItemAdded](t, rec.Events())
		if budget := producertest.One[*schema.BudgetApplied](t, rec.Events()); budget.Estimator == "" || budget.Estimator != item.Estimator {
			t.Errorf("%s: the budget's estimator is %q, the item's %q", model, budget.Estimator, item.Estimator)
		}
	}
}

// TestBudgetHasTheModelsWindow: a budget names the model, its window, the reserved tokens,
// and the estimated and sent tokens.
//
// Source: seed 000 (context window), seed 001 (ACTX-AR-BUDGET-001).
func TestBudgetHasTheModelsWindow(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 20, ReservedOutput: 10}})
	items := add(t, turn, nil, say("u1", "user", "one two three four five six"), say("a1", "assistant", "one two three four five"), say("u2", "user", "one two three"))
	plan, err := turn.Call("c").Fit(t.Context(), items, window.Policy{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := producertest.One[*schema.BudgetApplied](t, rec.Events())
	got := []int64{*b.MaxTokens, *b.ReservedTokens, *b.EstimatedTokens, *b.ActualTokens}
	if want := []int64{20, 10, 14, int64(plan.TokensAfter)}; b.Model != "gpt-4o" || !slices.Equal(got, want) || plan.TokensAfter > 10 {
		t.Errorf("%s: %v, not %v", b.Model, got, want)
	}
}
