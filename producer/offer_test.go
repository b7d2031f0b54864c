package producer_test

import (
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestOfferAndAcceptance proposes memory at the head of the conversation. The file that the
// model then reads names the proposal, and the other proposed file stays unread.
//
// Source: seed 004 (just-in-time memory).
func TestOfferAndAcceptance(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	items := add(t, turn, nil, say("u1", "user", "Hello."))
	offer := say("offer-1", "system", "You may read refunds.md or taxes.md.")
	offer.Offers = []string{"memory:refunds.md", "memory:taxes.md"}
	_, _, err := turn.Call("c1").InjectHead(t.Context(), items, window.Head{}.UserMessage("u1"), "memory", offer)
	if err != nil {
		t.Fatal(err)
	}
	add(t, turn, nil, producer.Content{
		ID: "memory:refunds.md", Kind: window.KindRetrieved, Layer: "memory", Text: "Thirty days.", OfferedBy: "offer-1",
	})
	facts := make(map[string]*schema.ItemAdded)
	for _, f := range producertest.Facts[*schema.ItemAdded](rec.Events()) {
		facts[f.ItemID] = f
	}
	injected := producertest.One[*schema.InjectionApplied](t, rec.Events())
	proposal := facts[injected.ItemRefs[0].ID()]
	if !slices.Equal(schema.RefIDs(proposal.Offers), offer.Offers) || proposal.OfferedBy != "" {
		t.Errorf("the proposal offers %v and was offered by %q", proposal.Offers, proposal.OfferedBy)
	}
	if read := facts["memory:refunds.md"]; read.OfferedBy.ID() != proposal.ItemID || len(read.Offers) != 0 {
		t.Errorf("what was read was offered by %q", read.OfferedBy)
	}
	if f := facts["u1"]; f.OfferedBy != "" || len(f.Offers) != 0 {
		t.Errorf("%+v", f.Item)
	}
}
