package facts

import (
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ElisionParts returns the facts of a pass; position finds an item in the item log.
func ElisionParts(id, call string, pass window.Pass, position func(id string) *int64) []*schema.ElisionApplied {
	parts := ElidedParts(schema.Elision{
		PassID: id, CallID: call, Policy: pass.Policy, Trigger: pass.Trigger, Level: schema.ElisionLevel(pass.Level),
	}, pass.Elided, position)
	for i, f := range parts {
		f.FirstChangedPosition = new(int64(pass.FirstChanged))
		if i == 0 {
			f.Metadata = Joined(f.Metadata, map[string]any{"planned": planned(pass)})
		}
	}
	return parts
}

// ElidedParts returns the facts of a pass over items. Each part holds the saved tokens of
// the items in this part.
func ElidedParts(shared schema.Elision, elided []window.Elided, position func(id string) *int64) []*schema.ElisionApplied {
	if len(elided) == 0 {
		return nil
	}
	chunks := elidedChunks(elided)
	list := make([]*schema.ElisionApplied, len(chunks))
	for i, part := range chunks {
		f := &schema.ElisionApplied{Common: schema.Common{Metadata: PartOf(i, len(chunks))}, Elision: shared}
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

// ReloadedParts returns the facts of elided items that are in the window in full again.
func ReloadedParts(shared schema.Elision, items []window.Elided, position func(id string) *int64) []*schema.ElisionReloaded {
	chunks := elidedChunks(items)
	list := make([]*schema.ElisionReloaded, len(chunks))
	for i, part := range chunks {
		f := &schema.ElisionReloaded{Common: schema.Common{Metadata: PartOf(i, len(chunks))}, Elision: shared}
		f.TokensBefore, f.TokensAfter = new(int64(0)), new(int64(0))
		for _, e := range part {
			e.Before, e.Stub = e.Stub, e.Before
			e.Note, e.StubDigest, e.Reason = "", "", "" // fields of the pass
			f.ElidedItemRefs = append(f.ElidedItemRefs, elidedItem(e, position))
			*f.TokensBefore, *f.TokensAfter = *f.TokensBefore+int64(e.Before), *f.TokensAfter+int64(e.Stub)
		}
		list[i] = f
	}
	return list
}

// elidedChunks divides items into as many parts as events need.
func elidedChunks(items []window.Elided) [][]window.Elided {
	return Chunk(items, MaxPartBytes, func(e window.Elided) int {
		return elidedBytes + TextBytes(e.ID) + TextBytes(e.ReloadRef) + TextBytes(e.CallID) + TextBytes(e.Note) +
			TextBytes(e.StubDigest) + TextBytes(e.Reason)
	})
}

func elidedItem(e window.Elided, position func(id string) *int64) schema.Elided {
	return schema.Elided{
		ItemRef: schema.Ref(e.ID), ToolCallID: e.CallID, Position: position(e.ID), Level: schema.ElisionLevel(e.Level),
		TokensBefore: new(int64(e.Before)), TokensAfter: new(int64(e.Stub)), ReloadRef: schema.Ref(e.ReloadRef),
		Note: e.Note, StubDigest: e.StubDigest, Reason: e.Reason,
	}
}

// planned returns a pass's planned cost, from before any change.
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
