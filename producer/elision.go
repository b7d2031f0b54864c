package producer

import (
	"context"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Elide records a planned pass over the window: what it shortened, what it moved
// at the head, and what it was planned to cost. Go on with the pass's Window and
// Head. A pass that elided nothing is no fact, and nothing is recorded.
//
// The plan stands in the fact's metadata under "planned": the window's tokens
// before and after, those to be computed again, those saved on each later call,
// the rates and, where it ever pays, the break-even in calls.
func (c *Call) Elide(ctx context.Context, pass window.Pass) error {
	if len(pass.Elided) == 0 {
		return nil
	}
	id := nth("elision:"+c.id, c.passes)
	facts := facts.AsFacts(elisionParts(id, c.id, pass, c.turn.run.log.position))
	if err := c.turn.Record(ctx, append(facts, headFacts(c.id, id, pass.Moved)...)...); err != nil {
		return err
	}
	c.passes++
	return nil
}

// Reload records that items which a pass elided are in the window in full again,
// and why, such as "model_request". The error is an [*InvalidError] for an item
// that the pass did not elide, or for none.
func (c *Call) Reload(ctx context.Context, pass window.Pass, trigger string, items ...string) error {
	f := &schema.ElisionReloaded{Elision: schema.Elision{
		PassID: nth("reload:"+c.id, c.reloads), CallID: c.id, Policy: pass.Policy, Trigger: trigger,
		TokensBefore: new(int64(0)), TokensAfter: new(int64(0)),
	}}
	for _, id := range items {
		at := slices.IndexFunc(pass.Elided, func(e window.Elided) bool { return e.ID == id })
		if at < 0 {
			return invalid("reloaded item", "is not one that the pass elided")
		}
		e := pass.Elided[at]
		e.Before, e.Stub = e.Stub, e.Before
		f.ElidedItemRefs = append(f.ElidedItemRefs, elidedItem(e, c.turn.run.log.position))
		*f.TokensBefore, *f.TokensAfter = *f.TokensBefore+int64(e.Before), *f.TokensAfter+int64(e.Stub)
	}
	if len(f.ElidedItemRefs) == 0 {
		return invalid("reloaded item", "must be named")
	}
	if err := c.turn.Record(ctx, f); err != nil {
		return err
	}
	c.reloads++
	return nil
}

// BillOf returns what a provider billed for a call's input, for
// [window.Pass.Settle]. It is false where the provider did not say how large the
// input was or how much of it came from the cache: unknown is not zero.
func BillOf(u schema.ProviderUsage) (window.Bill, bool) {
	tokens, known := u.Window()
	if !known || u.CacheRead == nil || *u.CacheRead < 0 || *u.CacheRead > tokens {
		return window.Bill{}, false
	}
	return window.Bill{Window: int(tokens), Read: int(*u.CacheRead)}, true
}

// nth tells the records of one call apart; the first has no number.
func nth(id string, before int) string {
	if before == 0 {
		return id
	}
	return id + ":" + strconv.Itoa(before+1)
}

// elisionParts says what a pass shortened; position finds an item in the item
// log. What was saved stands in each part for its own items.
func elisionParts(id, call string, pass window.Pass, position func(id string) *int64) []*schema.ElisionApplied {
	if len(pass.Elided) == 0 {
		return nil
	}
	chunks := facts.Chunk(pass.Elided, facts.MaxPartBytes, func(e window.Elided) int {
		return facts.ElidedBytes + facts.TextBytes(e.ID) + facts.TextBytes(e.ReloadRef) + facts.TextBytes(e.CallID)
	})
	list := make([]*schema.ElisionApplied, len(chunks))
	for i, part := range chunks {
		f := &schema.ElisionApplied{Common: schema.Common{Metadata: facts.PartOf(i, len(chunks))}, Elision: schema.Elision{
			PassID: id, CallID: call, Policy: pass.Policy, Trigger: pass.Trigger, Level: schema.ElisionLevel(pass.Level),
			FirstChangedPosition: new(int64(pass.FirstChanged)),
		}}
		if i == 0 {
			f.Metadata = facts.Joined(f.Metadata, map[string]any{"planned": planned(pass)})
		}
		before, after := int64(0), int64(0)
		for _, e := range part {
			before, after = before+int64(e.Before), after+int64(e.Stub)
			f.ElidedItemRefs = append(f.ElidedItemRefs, elidedItem(e, position))
		}
		f.TokensBefore, f.TokensAfter, f.TokensSaved = &before, &after, new(before-after)
		list[i] = f
	}
	return list
}

func elidedItem(e window.Elided, position func(id string) *int64) schema.Elided {
	return schema.Elided{
		ItemRef: schema.Ref(e.ID), ToolCallID: e.CallID, Position: position(e.ID), Level: schema.ElisionLevel(e.Level),
		TokensBefore: new(int64(e.Before)), TokensAfter: new(int64(e.Stub)), ReloadRef: schema.Ref(e.ReloadRef),
	}
}

// planned is a pass's cost as it was known before anything was applied.
func planned(pass window.Pass) map[string]any {
	cost := map[string]any{
		"window_tokens_before": pass.TokensBefore, "window_tokens_after": pass.TokensAfter,
		"recomputed_tokens": pass.Penalty, "saved_tokens_per_call": pass.SavedPerCall,
		"cache_read_rate": pass.Rates.Read, "cache_write_rate": pass.Rates.Write,
	}
	if calls, pays := pass.BreakEven(); pays {
		cost["break_even_calls"] = calls
	}
	return cost
}
