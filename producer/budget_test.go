package producer_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestBudgetNamesItsEstimator compares the budget's estimator with that of the
// items, also for a model whose tokenizer is not public.
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
