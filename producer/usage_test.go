package producer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// The sent items, by layer and by use, next to the item log.
func ExampleCall_Usage() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{Session: "s_42"})
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 20}})
	var items []window.Item
	for _, content := range []producer.Content{
		{ID: "sys", Layer: "system", Role: "system", Kind: window.KindFixed, Text: "You answer briefly."},
		{ID: "m1", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "A first question, with many words that nobody will need later, and some more of them to be safe."},
		{ID: "m2", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "And a second?"},
	} {
		item, _ := turn.Add(ctx, content)
		items = append(items, item)
	}
	call := turn.Call("call_1")
	plan, err := call.Fit(ctx, items, window.Policy{}, nil)
	if err := errors.Join(err, call.Usage(ctx, plan, schema.ProviderUsage{})); err != nil {
		fmt.Println(err)
	}
	f := producertest.Facts[*schema.UsageRecorded](rec.Events())[0]
	fmt.Println("system", *f.SystemTokens, "history", *f.HistoryTokens, "total", *f.TotalTokens)
	fmt.Println("the log holds", f.Metadata["log_tokens"], "tokens up to position", *f.WindowNext, "and the window begins at", *f.WindowFirst)
	// Output:
	// system 4 history 4 total 8
	// the log holds 26 tokens up to position 2 and the window begins at 1
}

// TestUsageComparesWithTheLineage: usage holds the changed layers and the time since the
// previous call, separately for a nested run on the same thread.
func TestUsageComparesWithTheLineage(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	model := producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000}}
	run := opened(t, client, producer.Run{ID: "root", Session: "s", Thread: "th", MaxDepth: 1})
	child, err := run.Child(t.Context(), producer.Child{ID: "child"})
	if err != nil {
		t.Fatal(err)
	}
	system := window.Item{ID: "sys", Layer: "system", Kind: window.KindFixed, Role: window.RoleSystem, Tokens: 10}
	user := func(id string) window.Item {
		return window.Item{ID: id, Layer: "user", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 5}
	}
	n := 0
	use := func(run *producer.RunContext, items ...window.Item) *schema.UsageRecorded {
		t.Helper()
		n++
		id := fmt.Sprint("call", n)
		call := run.Turn(fmt.Sprint("turn", n), model).Call(id)
		plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Usage(t.Context(), plan, schema.ProviderUsage{}); err != nil {
			t.Fatal(err)
		}
		return producertest.One[*schema.UsageRecorded](t, rec.Events().Call(id))
	}
	changed := func(f *schema.UsageRecorded) (text string) {
		for _, l := range f.Layers {
			text += l.Layer + "="
			if l.Changed == nil {
				text += "unknown "
			} else {
				text += fmt.Sprint(*l.Changed, " ")
			}
		}
		return text
	}
	first := use(run, system, user("a"))
	if got := changed(first); got != "system=unknown user=unknown " || first.GapSeconds != nil || first.LineageID != "t:th" {
		t.Errorf("first: %s %v %s", got, first.GapSeconds, first.LineageID)
	}
	if nested := use(child, system); changed(nested) != "system=unknown " || nested.LineageID != "x:child" {
		t.Errorf("nested: %s %s", changed(nested), nested.LineageID)
	}
	second := use(run, system, user("a"), user("b"))
	if got := changed(second); got != "system=false user=true " || second.GapSeconds == nil || *second.GapSeconds <= 0 {
		t.Errorf("second: %s %v", got, second.GapSeconds)
	}
	shorter := user("b")
	shorter.Tokens = 2
	if got := changed(use(opened(t, client, producer.Run{Session: "s", Thread: "th"}), system, user("a"), shorter)); got != "system=false user=true " {
		t.Errorf("another run of the thread: %s", got)
	}
}

// TestRefusedUsageChangesNothing: negative tokens are refused, and the next call is
// compared with the last recorded call.
func TestRefusedUsageChangesNothing(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000}})
	plan, err := turn.Call("c0").Fit(t.Context(), []window.Item{{ID: "a", Layer: "user", Kind: window.KindMessage, Tokens: 1}}, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := len(rec.Events())
	var violations schema.Violations
	if err := turn.Call("c1").Usage(t.Context(), plan, schema.ProviderUsage{Output: new(int64(-1))}); !errors.As(err, &violations) || len(rec.Events()) != before {
		t.Fatalf("negative tokens: %v", err)
	}
	if err := turn.Call("c2").Usage(t.Context(), plan, schema.ProviderUsage{Output: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	f := producertest.One[*schema.UsageRecorded](t, rec.Events())
	if f.Layers[0].Changed != nil || f.GapSeconds != nil || *f.Usage.Output != 0 || f.Usage.CacheRead != nil {
		t.Errorf("%+v", f)
	}
}

// TestSumUsageKeepsTheUnknown: without reports the sum is unknown, and a zero is a zero.
func TestSumUsageKeepsTheUnknown(t *testing.T) {
	t.Parallel()
	a := schema.ProviderUsage{UncachedInput: new(int64(3)), Reasoning: new(int64(0))}
	total := producer.SumUsage(a, schema.ProviderUsage{}, a, schema.ProviderUsage{CacheWrite1h: new(int64(7))})
	if *total.UncachedInput != 6 || *total.Reasoning != 0 || *total.CacheWrite1h != 7 || total.CacheRead != nil || total.Output != nil || *a.UncachedInput != 3 {
		t.Errorf("%+v", total)
	}
	if producer.SumUsage() != (schema.ProviderUsage{}) {
		t.Error("the sum of nothing is known")
	}
}

// TestUsageCountsInstructions counts developer messages together with the system prompt,
// and tool definitions separately.
func TestUsageCountsInstructions(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	plan := window.Plan{Window: []window.Item{
		{ID: "s", Kind: window.KindMessage, Role: window.RoleSystem, Tokens: 3}, {ID: "d", Kind: window.KindMessage, Role: window.RoleDeveloper, Tokens: 5},
		{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 7},
		{ID: "t", Kind: window.KindFixed, Role: window.RoleSystem, Layer: window.LayerTools, Tokens: 11},
	}}
	if err := turnOf(t, client, "s").Call("c").Usage(t.Context(), plan, schema.ProviderUsage{}); err != nil {
		t.Fatal(err)
	}
	if f := producertest.One[*schema.UsageRecorded](t, rec.Events()); *f.SystemTokens != 8 || *f.ToolsTokens != 11 || *f.HistoryTokens != 7 {
		t.Errorf("system %d, tools %d, history %d", *f.SystemTokens, *f.ToolsTokens, *f.HistoryTokens)
	}
}
