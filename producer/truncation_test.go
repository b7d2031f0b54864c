package producer_test

import (
	"context"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestBudgetExplainsItself runs each step separately and several in one plan. The strategy
// is the strategy of the last step that acted. Each removed or shortened item has one
// record.
//
// Source: seed 001 (ACTX-AR-BUDGET-001).
func TestBudgetExplainsItself(t *testing.T) {
	t.Parallel()
	candidates := []window.Item{
		{ID: "found", Kind: window.KindRetrieved, Tokens: 30},
		{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 20},
		{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 20},
		{ID: "hits", Kind: window.KindToolResult, Role: window.RoleTool, Tokens: 40},
		{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
	}
	summarize := func(_ context.Context, r window.Request) ([]window.Replacement, error) {
		return []window.Replacement{{ID: "summary", After: 5}}, nil
	}
	type record struct {
		item, strategy string
		after          int64
		reason         string
	}
	for name, c := range map[string]struct {
		policy   window.Policy
		room     int
		strategy schema.OverflowStrategy
		records  []record
	}{
		"fits": {window.DefaultPolicy(), 120, "", nil},
		"retrieved context dropped": {
			window.Policy{Steps: []window.Step{window.DropRetrieved}}, 90, schema.OverflowDeferToRetrieval,
			[]record{{"found", "drop_retrieved", 0, "budget_limit"}},
		},
		"messages trimmed": {
			window.Policy{Steps: []window.Step{window.TrimMessages}}, 100, schema.OverflowTruncateMiddle,
			[]record{{"u1", "trim_messages", 0, "budget_limit"}},
		},
		"messages summarised": {
			window.Policy{Steps: []window.Step{window.SummarizeMessages}, SummarizeKeepLast: 2}, 100, schema.OverflowSummarizeOldest,
			[]record{{"u1", "summarize_messages", 0, "superseded_by_summary"}, {"a1", "summarize_messages", 0, "superseded_by_summary"}},
		},
		"tool outputs compacted": {
			window.Policy{Steps: []window.Step{window.CompactToolOutputs}, CompactStubTokens: 7}, 100, schema.OverflowCustom,
			[]record{{"hits", "compact_tool_outputs", 7, ""}},
		},
		"several rungs": {
			window.Policy{Steps: []window.Step{window.DropRetrieved, window.TrimMessages}, TrimKeepLast: 2}, 60, schema.OverflowTruncateMiddle,
			[]record{{"found", "drop_retrieved", 0, "budget_limit"}, {"u1", "trim_messages", 0, "budget_limit"}, {"a1", "trim_messages", 0, "budget_limit"}},
		},
		"a rung that could do nothing": {
			window.Policy{Steps: []window.Step{window.DropRetrieved, window.CompactToolOutputs}, CompactStubTokens: 50}, 90, schema.OverflowDeferToRetrieval,
			[]record{{"found", "drop_retrieved", 0, "budget_limit"}},
		},
		"larger than the window itself": {
			window.Policy{Steps: []window.Step{window.DropRetrieved}}, 20, schema.OverflowReject,
			[]record{{"found", "drop_retrieved", 0, "too_large"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, rec := producertest.New(t)
			turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: c.room}})
			_, err := turn.Call("c").Fit(t.Context(), candidates, c.policy, summarize)
			if (err != nil) != (c.strategy == schema.OverflowReject) {
				t.Fatal(err)
			}
			budget := producertest.One[*schema.BudgetApplied](t, rec.Events())
			if budget.OverflowStrategy != c.strategy {
				t.Errorf("the strategy is %q, not %q", budget.OverflowStrategy, c.strategy)
			}
			if len(budget.TruncationRecords) != len(c.records) {
				t.Fatalf("%d records: %+v", len(budget.TruncationRecords), budget.TruncationRecords)
			}
			for i, want := range c.records {
				r := budget.TruncationRecords[i]
				before := int64(0)
				for _, it := range candidates {
					if it.ID == want.item {
						before = int64(it.Tokens)
					}
				}
				if got := (record{r.ItemRef.ID(), r.Strategy, *r.TokensAfter, r.Reason}); got != want || *r.TokensBefore != before {
					t.Errorf("record %d is %+v with %d tokens before, not %+v with %d", i, got, *r.TokensBefore, want, before)
				}
			}
		})
	}
}
