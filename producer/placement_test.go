package producer_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// keyed gives the client a key, so it makes digests.
func keyed(t testing.TB) func(*producer.Config) {
	t.Helper()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *producer.Config) { c.Key = key }
}

// placed records the items' window and returns the facts of its placement.
func placed(t testing.TB, call *producer.Call, rec *producertest.Recorder, items []window.Item) (*schema.AssemblyCreated, *schema.InjectionApplied) {
	t.Helper()
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := call.Assemble(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Inject(t.Context(), asm, schema.InjectMessageHistory); err != nil {
		t.Fatal(err)
	}
	events := rec.Events().Call(call.ID())
	injections := producertest.Facts[*schema.InjectionApplied](events)
	return producertest.One[*schema.AssemblyCreated](t, events), injections[len(injections)-1]
}

// TestPlacementsSayWhatIsRedacted compares each block, and the injection, with the
// items in it.
//
// Source: seed 001 (ACTX-AR-POLICY-001).
func TestPlacementsSayWhatIsRedacted(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t, keyed(t))
	turn := turnOf(t, client, "s")
	gone := say("gone", "user", "[removed]")
	gone.Redaction, gone.RedactionReason = schema.RedactionRemoved, "asked for"
	items := add(t, turn, nil, gone, say("whole", "user", "Hello."))
	digests := make(map[string]string)
	for _, f := range producertest.Facts[*schema.ItemAdded](rec.Events()) {
		digests[f.ItemID] = f.ContentDigest
	}
	asm, injected := placed(t, turn.Call("mixed"), rec, items)
	for i, state := range []schema.RedactionState{schema.RedactionRemoved, ""} {
		if b := asm.OrderedBlocks[i]; b.RedactionState != state || b.Digest == "" || b.Digest != digests[items[i].ID] {
			t.Errorf("block %d is %q with digest %q, not %q with %q", i, b.RedactionState, b.Digest, state, digests[items[i].ID])
		}
	}
	if injected.RedactionState != "" || injected.Digest != "" || asm.RedactionState != "" {
		t.Errorf("a window of which a part is redacted is %q, %q as a whole", injected.RedactionState, asm.RedactionState)
	}
	if _, injected := placed(t, turn.Call("one"), rec, items[:1]); injected.RedactionState != schema.RedactionRemoved || injected.Digest != digests["gone"] {
		t.Errorf("an injection of the item alone is %q with digest %q", injected.RedactionState, injected.Digest)
	}
}

// TestHeadSaysWhatIsRedacted checks the attachments of the head, also after an elision
// moves them.
func TestHeadSaysWhatIsRedacted(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t, keyed(t))
	turn := turnOf(t, client, "s")
	reminder := say("r1", "system", "[masked]")
	reminder.Redaction = schema.RedactionMasked
	items := add(t, turn, nil, say("u1", "user", "Hello."))
	items, head, err := turn.Call("c1").InjectHead(t.Context(), items, window.Head{}.UserMessage("u1"), "reminder", reminder)
	if err != nil {
		t.Fatal(err)
	}
	items = add(t, turn, items, producer.Content{ID: "hits", Kind: window.KindToolResult, Role: "tool", Text: "one two three four five six"}, say("u2", "user", "Go on."))
	pass, err := window.PlanElision(window.History{Items: items, Head: head.UserMessage("u2")}, window.BeforeLastUser(), window.Style{Level: window.Simple, StubTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Call("c2").Elide(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	var digest string
	for _, f := range producertest.Facts[*schema.ItemAdded](rec.Events()) {
		if f.ItemID == "r1" {
			digest = f.ContentDigest
		}
	}
	injections := producertest.Facts[*schema.InjectionApplied](rec.Events())
	if len(injections) != 2 {
		t.Fatalf("%d injections", len(injections))
	}
	for i, f := range injections {
		if f.RedactionState != schema.RedactionMasked || f.Digest == "" || f.Digest != digest {
			t.Errorf("injection %d is %q with digest %q, not %q", i, f.RedactionState, f.Digest, digest)
		}
	}
	asm, _ := placed(t, turn.Call("c3"), rec, pass.Window)
	for _, b := range asm.OrderedBlocks {
		if stub := b.ItemRefs[0] == "hits"; stub == (b.Digest != "") {
			t.Errorf("%s has digest %q: a stub has another content than its item", b.ItemRefs[0], b.Digest)
		}
	}
}
