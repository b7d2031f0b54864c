package producer_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// shortening makes stubs of 7 tokens with the place to read the output again.
var shortening = window.Policy{
	Steps: []window.Step{window.CompactToolOutputs}, CompactStubTokens: 7,
	CompactReloadRef: func(it window.Item) string { return "file:" + it.Reads },
}

var hits = window.Item{ID: "hits", Kind: window.KindToolResult, Role: window.RoleTool, Tokens: 201, CallIDs: []string{"t1"}, Reads: "a.go"}

// TestShorteningIsCarriedOn: an item that the ladder shortens is recorded as elided. Later
// calls do not take the stub for the whole item.
//
// Source: seed 000 (compact tool outputs).
func TestShorteningIsCarriedOn(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	plan, err := turn.Call("c1").Fit(t.Context(), []window.Item{hits}, shortening, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stub := plan.Window[0]; stub.Kind != window.KindStub || stub.Tokens != 7 {
		t.Errorf("the window has %+v", stub)
	}
	if _, err := turn.Call("c2").Fit(t.Context(), plan.Window, shortening, nil); err != nil { // it continues with the stub
		t.Fatal(err)
	}
	f := producertest.One[*schema.ElisionApplied](t, rec.Events())
	if f.PassID != "elision:c1" || f.CallID != "c1" || f.Policy != "pressure_ladder" || f.Trigger != "token_pressure" ||
		f.Level != schema.ElideOffloaded || *f.TokensBefore != 201 || *f.TokensAfter != 7 || *f.TokensSaved != 194 || f.FirstChangedPosition != nil {
		t.Errorf("%+v", f)
	}
	if e := f.ElidedItemRefs[0]; len(f.ElidedItemRefs) != 1 || e.ItemRef != "hits" || e.ToolCallID != "t1" || e.ReloadRef != "file:a.go" ||
		*e.TokensBefore != 201 || *e.TokensAfter != 7 {
		t.Errorf("%+v", e)
	}
	if n := len(rec.Events().Of(schema.TypeElisionReloaded)); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestShortenedItemSentWhole: if the runtime sends the whole item again, a reload is
// recorded once.
func TestShortenedItemSentWhole(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	tight := run.Turn("tight", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	wide := run.Turn("wide", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000}})
	for _, call := range []*producer.Call{tight.Call("c1"), tight.Call("c2"), wide.Call("c3"), wide.Call("c4"), tight.Call("c5")} {
		if _, err := call.Fit(t.Context(), []window.Item{hits}, shortening, nil); err != nil {
			t.Fatal(err)
		}
	}
	passes := producertest.Facts[*schema.ElisionApplied](rec.Events())
	if len(passes) != 2 || passes[0].CallID != "c1" || passes[1].CallID != "c5" {
		t.Errorf("%d passes", len(passes))
	}
	f := producertest.One[*schema.ElisionReloaded](t, rec.Events())
	if f.PassID != "reload:c3" || f.CallID != "c3" || f.Trigger != "sent_whole" || *f.TokensBefore != 7 || *f.TokensAfter != 201 ||
		f.ElidedItemRefs[0].ReloadRef != "file:a.go" {
		t.Errorf("%+v", f)
	}
}

// TestShorteningWithoutReference: no place is known to read the output again. A request
// that does not fit changes nothing for later calls.
func TestShorteningWithoutReference(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	policy := window.Policy{Steps: []window.Step{window.CompactToolOutputs}, CompactStubTokens: 7}
	fixed := window.Item{ID: "system", Kind: window.KindFixed, Tokens: 99}
	if _, err := turn.Call("c1").Fit(t.Context(), []window.Item{fixed, hits}, policy, nil); err == nil {
		t.Error("it fits")
	}
	if _, err := turn.Call("c2").Fit(t.Context(), []window.Item{hits}, policy, nil); err != nil {
		t.Fatal(err)
	}
	f := producertest.One[*schema.ElisionApplied](t, rec.Events())
	if f.CallID != "c2" || f.Level != schema.ElideSimple || f.ElidedItemRefs[0].ReloadRef != "" {
		t.Errorf("%+v", f)
	}
}
