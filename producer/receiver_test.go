package producer_test

import (
	"errors"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestAssemblyForATool: a tool call gets its own context in addition to the model's. Both
// the assembly and the injection name the tool call.
//
// Source: seed 001 (tool_call_id).
func TestAssemblyForATool(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call := turn.Call("c")
	items := add(t, turn, nil, say("u1", "user", "Hello."), say("u2", "user", "Go on."))
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	model, err := call.Assemble(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	forTool := plan
	forTool.Window = plan.Window[:1]
	for _, id := range []string{"t1", "t2"} {
		asm, err := call.AssembleFor(t.Context(), forTool, producer.Receiver{Target: schema.VisibleTool, ToolCall: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Inject(t.Context(), asm, schema.InjectToolArgument); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(call.Inject(t.Context(), model, schema.InjectMessageHistory), call.Usage(t.Context(), plan, schema.ProviderUsage{})); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string) // id to tool call and target
	for _, e := range rec.Events() {
		switch f := e.Fact.(type) {
		case *schema.AssemblyCreated:
			got[f.AssemblyID] = e.ToolCallID + " " + f.Target + " " + f.Visibility[0] + " " + f.OrderedBlocks[0].Visibility[0]
		case *schema.InjectionApplied:
			got[f.InjectionID] = e.ToolCallID + " " + f.Target + " " + f.AssemblyID
		}
	}
	for id, want := range map[string]string{
		"assembly:c": " model model model", "assembly:c:tool:t1": "t1 tool tool tool", "assembly:c:tool:t2": "t2 tool tool tool",
		"inject:c": " model assembly:c", "inject:c:tool:t1": "t1 tool assembly:c:tool:t1", "inject:c:tool:t2": "t2 tool assembly:c:tool:t2",
	} {
		if got[id] != want {
			t.Errorf("%s is %q, not %q", id, got[id], want)
		}
	}
	if usage := producertest.One[*schema.UsageRecorded](t, rec.Events()); usage.AssemblyID != "assembly:c" {
		t.Errorf("the usage is that of %s", usage.AssemblyID)
	}
	if _, err := call.AssembleFor(t.Context(), plan, producer.Receiver{ToolCall: "t1"}); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("a receiver without a target: %v", err)
	}
}
