package producer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// full returns more items than fit into a window of 100 tokens.
func full() []window.Item {
	return []window.Item{
		{ID: "u1", Layer: "user", Role: "user", Kind: window.KindMessage, Tokens: 60},
		{ID: "a1", Layer: "assistant", Role: "assistant", Kind: window.KindMessage, Tokens: 30},
		{ID: "u2", Layer: "user", Role: "user", Kind: window.KindMessage, Tokens: 20},
	}
}

// TestPolicyOfARun: a run's policy holds for its calls and for the calls of runs below. The
// policy is recorded with the run and named in its effects. A call's own policy has
// priority.
func TestPolicyOfARun(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	policy := window.Policy{Name: "tight", Steps: []window.Step{window.TrimMessages}, TrimKeepLast: 1, HighWater: 90, TriggerTokens: 95}
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Pressure: &policy})
	policy.Steps[0], policy.Name = window.SummarizeMessages, "changed" // the run has a copy
	child, err := run.Child(t.Context(), producer.Child{ID: "below"})
	if err != nil {
		t.Fatal(err)
	}
	own, err := run.Child(t.Context(), producer.Child{ID: "own", Pressure: &window.Policy{Name: "wide"}})
	if err != nil {
		t.Fatal(err)
	}
	model := producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}}
	for _, c := range []struct {
		run    *producer.RunContext
		policy window.Policy
		want   string
	}{
		{run, window.Policy{}, "tight"}, {child, window.Policy{}, "tight"}, {own, window.Policy{}, "wide"},
		{child, window.DefaultPolicy(), "pressure_ladder"}, {run, window.Policy{Name: "ours", TrimKeepFirst: 1}, "ours"},
	} {
		before := len(rec.Events())
		if _, err := c.run.Turn("", model).Call("").Fit(t.Context(), full(), c.policy, nil); err != nil && !errors.Is(err, window.ErrContextLimit) {
			t.Fatal(err)
		}
		events := rec.Events()[before:]
		if s := producertest.One[*schema.SelectionCompleted](t, events); string(s.Policy) != c.want {
			t.Errorf("the selection was made by %q, not %q", s.Policy, c.want)
		}
		for _, p := range producertest.Facts[*schema.PressureApplied](events) {
			if p.Policy != c.want {
				t.Errorf("%s was run by %q, not %q", p.Name, p.Policy, c.want)
			}
		}
		if b := producertest.One[*schema.BudgetApplied](t, events); b.PressurePolicy == nil || b.PressurePolicy.Name != c.want {
			t.Errorf("%+v", b.PressurePolicy)
		}
	}
	scopes := producertest.Facts[*schema.ScopeOpened](rec.Events())
	rules := scopes[0].PressurePolicy
	if rules == nil || rules.Name != "tight" || !slices.Equal(rules.Steps, []string{"trim_messages"}) || *rules.HighWater != 90 ||
		*rules.TriggerTokens != 95 || *rules.TrimKeepLast != 1 || *rules.CompactKeepLast != 0 || rules.CompactStubTokens != nil {
		t.Errorf("%+v", rules)
	}
	if scopes[1].PressurePolicy.Name != "tight" || !slices.Contains(scopes[1].InheritedFields, "pressure_policy") {
		t.Errorf("the child: %+v", scopes[1])
	}
	if scopes[2].PressurePolicy.Name != "wide" || slices.Contains(scopes[2].InheritedFields, "pressure_policy") {
		t.Errorf("the child with its own: %+v", scopes[2])
	}
}

// TestPolicyThatIsNone: an invalid policy is refused with the run. A window that fits
// without the ladder names no rules.
func TestPolicyThatIsNone(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	for _, p := range []window.Policy{{HighWater: 101}, {Steps: []window.Step{"guess"}}, {Steps: []window.Step{window.TrimMessages, window.TrimMessages}}, {TrimKeepLast: -1}} {
		if _, err := client.Open(t.Context(), producer.Run{Session: "s", Pressure: &p}); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if len(rec.Events()) != 0 {
		t.Errorf("%d events of runs that were refused", len(rec.Events()))
	}
	run := opened(t, client, producer.Run{Session: "s"})
	if _, err := run.Turn("", producer.Model{Window: window.Budget{MaxTokens: 1_000}}).Call("").Fit(t.Context(), full(), window.DefaultPolicy(), nil); err != nil {
		t.Fatal(err)
	}
	if b := producertest.One[*schema.BudgetApplied](t, rec.Events()); b.PressurePolicy != nil {
		t.Errorf("%+v", b.PressurePolicy)
	}
	if s := producertest.One[*schema.ScopeOpened](t, rec.Events()); s.PressurePolicy != nil {
		t.Errorf("%+v", s.PressurePolicy)
	}
}

// TestWhatStays: the plan and the item's fact show whether an item is pinned or essential.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 12}})
	var items []window.Item
	for _, c := range []producer.Content{{ID: "plain"}, {ID: "kept", Essential: true}, {ID: "fast", Pinned: true}} {
		c.Layer, c.Kind, c.Text = "memory", window.KindRetrieved, "one two three four five"
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	plan, err := turn.Call("c").Fit(t.Context(), items, window.Policy{Steps: []window.Step{window.DropRetrieved}}, nil)
	if err != nil || len(plan.Window) != 2 || plan.Window[0].ID != "kept" {
		t.Errorf("%v %+v", err, plan.Window)
	}
	facts := producertest.Facts[*schema.ItemAdded](rec.Events())
	if facts[0].Essential || facts[0].Pinned || !facts[1].Essential || facts[1].Pinned || facts[2].Essential || !facts[2].Pinned {
		t.Errorf("%+v", facts)
	}
}

// TestTagsOfTurnsAndCalls: the tags of a turn and of a call are in the facts that close
// them.
func TestTagsOfTurnsAndCalls(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s", Tags: []string{"nightly"}}).Turn("t", producer.Model{Window: window.Budget{MaxTokens: 1_000}})
	call := turn.Call("c")
	call.Tags = []string{"draft"}
	plan, err := call.Fit(t.Context(), full(), window.DefaultPolicy(), nil)
	if err := errors.Join(err, turn.Tag("billing", "urgent"), turn.Tag("urgent"), call.Usage(t.Context(), plan, schema.ProviderUsage{})); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := producertest.One[*schema.UsageRecorded](t, rec.Events()); !slices.Equal(u.Tags, []string{"draft"}) {
		t.Errorf("%v", u.Tags)
	}
	if s := producertest.One[*schema.EnvelopeCreated](t, rec.Events()); !slices.Equal(s.Tags, []string{"billing", "urgent"}) {
		t.Errorf("%v", s.Tags)
	}
	if err := turn.Tag("late"); !errors.Is(err, producer.ErrSealed) {
		t.Errorf("%v", err)
	}
}
