package producer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// The cost of a pass is known before it is applied. The actual cost is known after the
// provider has billed the next call.
func ExampleCall_Elide() {
	ctx := context.Background()
	client, err := producer.NewClient(producer.Config{}, new(producertest.Recorder))
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Open(ctx, producer.Run{Session: "s"})
	if err != nil {
		log.Fatal(err)
	}
	call := run.Turn("turn-2", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 64_000}}).Call("call-7")
	items := []window.Item{ // as Turn.Add returned them
		{ID: "system", Kind: window.KindFixed, Tokens: 12_000},
		{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 20},
		{ID: "grep", Kind: window.KindToolCall, Tokens: 20, CallIDs: []string{"t1"}},
		{ID: "hits", Kind: window.KindToolResult, Tokens: 18_000, CallIDs: []string{"t1"}},
		{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 60},
		{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
	}
	pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), window.Style{
		Level: window.Offloaded, StubTokens: 20, ReloadRef: func(it window.Item) string { return "elided/" + it.ID },
	})
	if err != nil {
		log.Fatal(err)
	}
	calls, _ := pass.BreakEven()
	fmt.Printf("planned: %d tokens recomputed, pays after %.2f calls\n", pass.Penalty, calls)
	if err := call.Elide(ctx, pass); err != nil {
		log.Fatal(err)
	}
	billed := schema.ProviderUsage{UncachedInput: new(int64(90)), CacheRead: new(int64(12_040))}
	if bill, known := producer.BillOf(billed); known {
		settled := pass.Settle(0, bill)
		fmt.Printf("billed: %d tokens recomputed, pays after %.2f calls\n", settled.Recomputed, settled.BreakEven)
	}
	if err := call.Reload(ctx, pass, "model_request", "hits"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// planned: 90 tokens recomputed, pays after 0.06 calls
	// billed: 90 tokens recomputed, pays after 0.06 calls
}

// grepped returns a window with a long tool output that BeforeLastUser elides.
func grepped() []window.Item {
	return []window.Item{
		{ID: "system", Kind: window.KindFixed, Tokens: 12_000},
		{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 20},
		{ID: "grep", Kind: window.KindToolCall, Tokens: 20, CallIDs: []string{"t1"}},
		{ID: "hits", Kind: window.KindToolResult, Tokens: 18_000, CallIDs: []string{"t1"}},
		{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
	}
}

func offloaded(t testing.TB, items []window.Item) window.Pass {
	t.Helper()
	pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), window.Style{
		Level: window.Offloaded, StubTokens: 20, ReloadRef: func(it window.Item) string { return "elided/" + it.ID },
	})
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

func TestElisionFacts(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	call := turnOf(t, client, "s").Call("c")
	pass := offloaded(t, grepped())
	if err := errors.Join(call.Elide(t.Context(), pass), call.Elide(t.Context(), window.Pass{}), call.Elide(t.Context(), pass)); err != nil {
		t.Fatal(err)
	}
	passes := producertest.Facts[*schema.ElisionApplied](rec.Events())
	if len(passes) != 2 || passes[0].PassID != "elision:c" || passes[1].PassID != "elision:c:2" {
		t.Fatalf("%d passes", len(passes))
	}
	f := passes[0]
	if f.Policy != "before_last_user" || f.Trigger != "user_message" || f.Level != schema.ElideOffloaded || *f.FirstChangedPosition != 12_040 ||
		*f.TokensBefore != 18_000 || *f.TokensAfter != 20 || *f.TokensSaved != 17_980 {
		t.Errorf("%+v", f)
	}
	if e := f.ElidedItemRefs[0]; len(f.ElidedItemRefs) != 1 || e.ItemRef != "hits" || e.ToolCallID != "t1" || e.ReloadRef != "elided/hits" || *e.TokensBefore != 18_000 || *e.TokensAfter != 20 {
		t.Errorf("%+v", e)
	}
	planned, _ := f.Metadata["planned"].(map[string]any)
	for name, want := range map[string]float64{
		"window_tokens_before": 30_050, "window_tokens_after": 12_070, "recomputed_tokens": 30, "saved_tokens_per_call": 17_980,
		"cache_read_rate": 0.1, "cache_write_rate": 1.25, "break_even_calls": 30 * 11.5 / 17_980,
	} {
		if got, ok := planned[name].(float64); !ok || got < want*0.999999 || got > want*1.000001 {
			t.Errorf("%s is %v, not %v", name, planned[name], want)
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	call := turnOf(t, client, "s").Call("c")
	pass := offloaded(t, grepped())
	for _, bad := range [][]string{nil, {"u1"}, {"hits", "gone"}} {
		if err := call.Reload(t.Context(), pass, "model_request", bad...); !errors.Is(err, producer.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := errors.Join(call.Reload(t.Context(), pass, "model_request", "hits"), call.Reload(t.Context(), pass, "again", "hits")); err != nil {
		t.Fatal(err)
	}
	reloads := producertest.Facts[*schema.ElisionReloaded](rec.Events())
	if len(reloads) != 2 || reloads[0].PassID != "reload:c" || reloads[1].PassID != "reload:c:2" {
		t.Fatalf("%d reloads", len(reloads))
	}
	f := reloads[0]
	if e := f.ElidedItemRefs[0]; *f.TokensBefore != 20 || *f.TokensAfter != 18_000 || *e.TokensBefore != 20 || *e.TokensAfter != 18_000 ||
		e.ItemRef != "hits" || f.Trigger != "model_request" || f.Policy != "before_last_user" {
		t.Errorf("%+v", f)
	}
}

func TestBillOf(t *testing.T) {
	t.Parallel()
	n := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		usage schema.ProviderUsage
		want  window.Bill
		known bool
	}{
		"nothing said":       {},
		"no cache said":      {usage: schema.ProviderUsage{UncachedInput: n(10)}},
		"no hit":             {schema.ProviderUsage{UncachedInput: n(10), CacheRead: n(0)}, window.Bill{Window: 10}, true},
		"written and read":   {schema.ProviderUsage{UncachedInput: n(1), CacheRead: n(20), CacheWrite5m: n(300), Output: n(4000)}, window.Bill{Window: 321, Read: 20}, true},
		"a negative reading": {usage: schema.ProviderUsage{UncachedInput: n(10), CacheRead: n(-1)}},
	} {
		if got, known := producer.BillOf(c.usage); got != c.want || known != c.known {
			t.Errorf("%s: %+v, %v", name, got, known)
		}
	}
}
