package producer_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// shelf is a host's store of elided content.
type shelf map[string]producer.Content

func (s shelf) Load(_ context.Context, item, ref string) (producer.Content, error) {
	if ref != "" {
		item = ref
	}
	return s[item], nil
}

// grepping adds a turn with a tool call to the window, and returns the window with the
// store.
func grepping(t *testing.T, turn *producer.Turn) ([]window.Item, shelf) {
	t.Helper()
	var items []window.Item
	texts := make(shelf)
	for _, c := range []producer.Content{
		say("u1", window.RoleUser, "Where is the legacy middleware used?"),
		{ID: "grep", Kind: window.KindToolCall, Role: window.RoleAssistant, ToolCallID: "t1", Text: "grep -r legacyAuth src/"},
		{ID: "hits", Kind: window.KindToolResult, Role: window.RoleTool, ToolCallID: "t1", Text: "src/users.ts:12 src/orders.ts:8 src/billing.ts:9 and 240 more lines of the same"},
		say("u2", window.RoleUser, "Do the orders first."),
	} {
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
		texts[c.ID], texts["elided/"+c.ID] = producer.Content{Text: c.Text}, producer.Content{Text: c.Text}
	}
	return items, texts
}

// TestRestore: a reload restores the window with the original item, from a store of the
// host (seed 004, l. 57).
func TestRestore(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	for name, style := range map[string]window.Style{
		"a stub":          {Level: window.Offloaded, StubTokens: 3, ReloadRef: func(it window.Item) string { return "elided/" + it.ID }},
		"a stub for both": {Level: window.Simple, StubTokens: 3, WholeCalls: true},
		"nothing":         {Level: window.Trivial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
			turn := turnOf(t, client, "s")
			items, texts := grepping(t, turn)
			call := turn.Call("c")
			if _, err := call.Restore(t.Context(), items, texts, "model_request", "hits"); !errors.Is(err, producer.ErrNotElided) {
				t.Errorf("an item that was never elided: %v", err)
			}
			pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), style)
			if err != nil {
				t.Fatal(err)
			}
			if err := call.Elide(t.Context(), pass); err != nil {
				t.Fatal(err)
			}
			if _, err := call.Restore(t.Context(), pass.Window, shelf{"elided/hits": {Text: "another text"}, "hits": {Text: "another text"}, "grep": texts["grep"]}, "model_request", "hits"); !errors.Is(err, producer.ErrInvalid) {
				t.Errorf("another text: %v", err)
			}
			if _, err := call.Restore(t.Context(), pass.Window, shelf{}, "model_request", "hits"); !errors.Is(err, producer.ErrInvalid) {
				t.Errorf("no text: %v", err)
			}
			back, err := call.Restore(t.Context(), pass.Window, texts, "model_request", "hits")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(back, items, func(a, b window.Item) bool {
				return a.ID == b.ID && a.Kind == b.Kind && a.Tokens == b.Tokens && a.Digest == b.Digest
			}) {
				t.Errorf("the window is %+v, not %+v", back, items)
			}
			if _, err := call.Restore(t.Context(), back, texts, "model_request", "hits"); !errors.Is(err, producer.ErrNotElided) {
				t.Errorf("again: %v", err)
			}
			reloads := producertest.Facts[*schema.ElisionReloaded](rec.Events())
			if len(reloads) != 1 || reloads[0].Trigger != "model_request" || reloads[0].Policy != "before_last_user" || len(reloads[0].ElidedItemRefs) != len(pass.Elided) {
				t.Fatalf("%+v", reloads)
			}
		})
	}
}

// TestRestoreWhatTheLadderShortened: a compacted tool output replaces its stub again, once.
func TestRestoreWhatTheLadderShortened(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	items, texts := grepping(t, turn)
	call := turn.Call("c")
	policy := window.Policy{Steps: []window.Step{window.CompactToolOutputs}, TriggerTokens: 1, CompactStubTokens: 3, CompactReloadRef: func(it window.Item) string { return "elided/" + it.ID }}
	plan, err := call.Fit(t.Context(), items, policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := call.Restore(t.Context(), plan.Window, texts, "model_request", "hits")
	if err != nil || back[2].Kind != window.KindToolResult || back[2].Tokens != items[2].Tokens {
		t.Fatalf("%+v, %v", back, err)
	}
	if _, err := turn.Call("c2").Fit(t.Context(), back, window.Policy{}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(producertest.Facts[*schema.ElisionReloaded](rec.Events())); n != 1 {
		t.Errorf("%d reloads", n)
	}
}

// TestElisionNotes: a stub's note and digest, and the reason for each item, are recorded
// (seed 004, l. 58 and 59).
func TestElisionNotes(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
	turn := turnOf(t, client, "s")
	items, _ := grepping(t, turn)
	const note = "read to find where the middleware is used"
	rules := window.Rules{LongTokens: 5, LongTurns: 1, Cut: func(window.Item) window.Cut {
		return window.Cut{Level: window.Summarized, StubTokens: 3, Note: note}
	}}
	pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), window.Style{Level: window.Hybrid, Weigh: rules.Weigh})
	if err != nil {
		t.Fatal(err)
	}
	call := turn.Call("c")
	if err := call.Elide(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Restore(t.Context(), pass.Window, shelf{"hits": {Text: "x"}}, "t", "u1"); !errors.Is(err, producer.ErrNotElided) {
		t.Errorf("%v", err)
	}
	if err := call.Reload(t.Context(), pass, "model_request", "hits"); err != nil {
		t.Fatal(err)
	}
	passes := producertest.Facts[*schema.ElisionApplied](rec.Events())
	if len(passes) != 1 || len(passes[0].ElidedItemRefs) != 1 {
		t.Fatalf("%+v", passes)
	}
	if e := passes[0].ElidedItemRefs[0]; e.Note != note || e.StubDigest != key.Digest([]byte(note)) || e.Reason == "" {
		t.Errorf("%+v", e)
	}
	if e := producertest.Facts[*schema.ElisionReloaded](rec.Events())[0].ElidedItemRefs[0]; e.Note != "" || e.Reason != "" {
		t.Errorf("the reload has what the pass said: %+v", e)
	}
	if added := producertest.Facts[*schema.ItemAdded](rec.Events()); added[2].Reads != "" {
		t.Errorf("%+v", added[2])
	}
}

// TestReadsAreRecorded: the item of a tool result names the shown file or resource, so a
// later read of the same can be found (seed 004, l. 118).
func TestReadsAreRecorded(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	if _, err := turnOf(t, client, "s").Add(t.Context(), producer.Content{ID: "r", Kind: window.KindToolResult, Role: window.RoleTool, Text: "package main", Reads: "main.go"}); err != nil {
		t.Fatal(err)
	}
	if items := producertest.Facts[*schema.ItemAdded](rec.Events()); len(items) != 1 || items[0].Reads != "main.go" {
		t.Errorf("%+v", items)
	}
}
