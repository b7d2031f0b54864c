package producer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// talk is larger than a hundred tokens. The talk fits when its first two items are a
// summary.
var talk = []window.Item{
	{ID: "u1", Layer: "user", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 70},
	{ID: "a1", Layer: "assistant", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 70},
	{ID: "u2", Layer: "user", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
}

var summarising = window.Policy{Steps: []window.Step{window.SummarizeMessages}}

// summaryOf answers with a summary of 20 tokens.
func summaryOf(context.Context, window.Request) ([]window.Replacement, error) {
	return []window.Replacement{{ID: "summary", After: 20}}, nil
}

func hundred(t testing.TB, client *producer.Client, most int) *producer.Turn {
	t.Helper()
	return opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: most}})
}

// TestWorkThatSummarises: the summary of a Work is an item, a summary and a completed
// compaction, with the known size and source. Every item in the window has a description.
//
// Source: seed 000 (summarize old messages), seed 001 (ACTX-AR-COMPACT-001).
func TestWorkThatSummarises(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	call := hundred(t, client, 100).Call("c")
	plan, err := call.Fit(t.Context(), talk, summarising, func(ctx context.Context, r window.Request) ([]window.Replacement, error) {
		r.Source[0], r.Window[0].ID = "changed", "changed" // they are the runtime's own copies
		return summaryOf(ctx, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	events := rec.Events()
	started, done := producertest.One[*schema.CompactionStarted](t, events), producertest.One[*schema.CompactionCompleted](t, events)
	if !slices.Equal(schema.RefIDs(started.SourceItemRefs), []string{"u1", "a1"}) || started.CompactionID != done.CompactionID || done.CallID != "c" ||
		done.SummaryRef != "summary" || done.Trigger != schema.TriggerTokenPressure || done.Method != "" || *done.TokensBefore != 150 || *done.TokensAfter != 30 {
		t.Errorf("started %+v, completed %+v", started.Compaction, done.Compaction)
	}
	item := producertest.One[*schema.ItemAdded](t, events)
	if item.ItemID != "summary" || item.ContentMode != schema.ContentSummary || item.Layer != "summary" || *item.TokenEstimate != 20 || item.Estimator != "" ||
		item.ContentDigest != "" || item.ByteSize != nil {
		t.Errorf("%+v", item.Item)
	}
	summary := producertest.One[*schema.SummaryCreated](t, events)
	if summary.SummaryID != "summary" || *summary.Tokens != 20 || !slices.Equal(schema.RefIDs(summary.SourceItemRefs), []string{"u1", "a1"}) {
		t.Errorf("%+v", summary.Summary)
	}
	if rung := producertest.Facts[*schema.PressureApplied](events)[0]; rung.SummaryRef != "summary" {
		t.Errorf("the rung names the summary %q", rung.SummaryRef)
	}
	asm, err := call.Assemble(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if b := asm.OrderedBlocks[0]; b.ItemRefs[0] != "summary" || b.Layer != "summary" {
		t.Errorf("%+v", b)
	}
}

// TestWorkWhoseSummaryIsNotUsed: the request does not fit even with the summary, so the
// summary is discarded and becomes no item.
func TestWorkWhoseSummaryIsNotUsed(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	if _, err := hundred(t, client, 25).Call("c").Fit(t.Context(), talk, summarising, summaryOf); !errors.Is(err, window.ErrContextLimit) {
		t.Fatal(err)
	}
	f := producertest.One[*schema.CompactionDiscarded](t, rec.Events())
	if f.SummaryRef != "summary" || *f.TokensAfter != 30 || f.Reason == "" {
		t.Errorf("%+v", f.Compaction)
	}
	if got := rec.Events().Of(schema.TypeItemAdded, schema.TypeSummaryCreated, schema.TypeCompactionCompleted); len(got) != 0 {
		t.Errorf("%v", got.Types())
	}
}

// TestWorkThatAddsItsSummary: the runtime adds the summary as content, so its item is
// recorded once, and later facts have its digest. A second plan of the turn uses the same
// summary.
func TestWorkThatAddsItsSummary(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t, keyed(t))
	turn := hundred(t, client, 100)
	added := false
	work := func(ctx context.Context, _ window.Request) ([]window.Replacement, error) {
		if !added {
			added = true
			if _, err := turn.Add(ctx, producer.Content{ID: "summary", Kind: window.KindSummary, Layer: "digest", Text: "They counted."}); err != nil {
				return nil, err
			}
		}
		return []window.Replacement{{ID: "summary", Layer: "digest", After: 3}}, nil
	}
	for _, id := range []string{"c1", "c2"} {
		plan, err := turn.Call(id).Fit(t.Context(), talk, summarising, work)
		if err != nil {
			t.Fatal(err)
		}
		item := producertest.One[*schema.ItemAdded](t, rec.Events())
		if plan.Window[0].Digest == "" || plan.Window[0].Digest != item.ContentDigest {
			t.Errorf("%s: the digest is %q, not %q", id, plan.Window[0].Digest, item.ContentDigest)
		}
		summaries := producertest.Facts[*schema.SummaryCreated](rec.Events())
		f := summaries[len(summaries)-1]
		if f.ContentDigest != item.ContentDigest || len(rec.Events().Call(id).Of(schema.TypeCompactionCompleted)) != 1 {
			t.Errorf("%s: %+v", id, f.Summary)
		}
	}
}
