package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// boundary emits the compaction of a compact_boundary record.
func (im *claudeImport) boundary(r *record) error {
	if err := im.Open(r); err != nil {
		return err
	}
	meta := r.Compact
	if meta == nil {
		meta = new(claudeCompact)
	}
	retained := meta.retains(&r.Thread.Log.Window)
	r.Thread.Log.Passed(r.Record)
	c := &model.Compaction{
		ID: r.Record, Retained: retained, Summary: schema.Ref(im.index.summaries[r.Record]),
		Method: schema.MethodAbstractiveSummary, Trigger: compactionTrigger(meta.Trigger), Policy: "replace_window",
		Before: im.Count(&r.Origin, "compactMetadata.preTokens", meta.PreTokens),
		After:  im.Count(&r.Origin, "compactMetadata.postTokens", meta.PostTokens),
		Extra:  make(map[string]any),
	}
	if c.Before != nil {
		c.Extra["pre_tokens"] = *c.Before
	}
	if r.LogicalParentUUID != "" {
		c.Extra["logical_parent_uuid"] = r.LogicalParentUUID
	}
	if meta.Trigger != "" {
		c.Extra["trigger"] = model.ShortText(meta.Trigger, 64)
	}
	return im.Compaction(&r.Origin, c)
}

// retains returns a predicate for the entries of the window that the boundary keeps.
func (m *claudeCompact) retains(window *hashset.List[model.Entry]) func(*model.Entry) bool {
	kept := make(map[uint64]bool)
	if m.PreservedMessages != nil {
		for _, record := range m.PreservedMessages.UUIDs {
			kept[model.HashOf(record)] = true
		}
	}
	if s := m.PreservedSegment; s != nil {
		first, last := model.HashOf(s.HeadUUID), model.HashOf(s.TailUUID)
		head, tail := -1, -1
		for i, e := range window.All() {
			if head < 0 && e.Record == first {
				head = i
			}
			if tail < 0 && e.Record == last {
				tail = i
			}
		}
		for i := max(head, 0); head >= 0 && i <= tail; i++ {
			kept[window.At(i).Record] = true
		}
	}
	return func(e *model.Entry) bool { return kept[e.Record] }
}

func compactionTrigger(native string) schema.CompactionTrigger {
	switch native {
	case "":
		return ""
	case "manual":
		return schema.TriggerManual
	case "auto":
		return schema.TriggerTokenPressure
	}
	return schema.TriggerCustom
}

// microcompact emits the elision of a microcompact_boundary record.
func (im *claudeImport) microcompact(r *record) error {
	if err := im.Open(r); err != nil {
		return err
	}
	t := r.Thread
	meta := r.Microcompact
	if meta == nil {
		meta = new(claudeElision)
	}
	elided, before := im.elided(r, meta)
	t.Log.Passed(r.Record)
	if len(elided) == 0 {
		im.Problem(r.Line, model.NewLineError(model.ReasonNothingElided, "the boundary names no tool result"))
		return nil
	}
	for _, e := range elided {
		t.Log.Elide(e.ToolCallID)
	}
	e := &model.Elision{
		ID: r.Record, Policy: "claude-code:microcompact", Trigger: model.ShortText(meta.Trigger, 64), Level: schema.ElideSimple, Items: elided, Before: before,
		Saved: im.Count(&r.Origin, "microcompactMetadata.tokensSaved", meta.TokensSaved),
		Extra: map[string]any{"compacted_tool_ids": len(elided)},
	}
	if preTokens := im.Count(&r.Origin, "microcompactMetadata.preTokens", meta.PreTokens); preTokens != nil {
		e.Extra["pre_tokens"] = *preTokens
	}
	if meta.Trigger != "" {
		e.Extra["trigger"] = e.Trigger
	}
	if len(meta.ClearedAttachments) > 0 {
		e.Extra["cleared_attachments"] = len(meta.ClearedAttachments)
	}
	return im.Elision(&r.Origin, e)
}

// elided lists the items that the pass elided, with position and tokens where this log holds the
// result. before is the sum of the tokens, if all are known.
func (im *claudeImport) elided(r *record, meta *claudeElision) (list []schema.Elided, before *int64) {
	var sum int64
	known := true
	for _, toolCall := range meta.CompactedToolIDs {
		if toolCall == "" || !model.ValidID(toolCall) {
			im.Problem(r.Line, model.NewLineError(model.ReasonBadID, "microcompactMetadata.compactedToolIds holds an id that cannot travel"))
			continue
		}
		e := schema.Elided{ItemRef: schema.Ref(model.ResultID(toolCall)), ToolCallID: toolCall}
		result, held := r.Thread.Log.Results[model.HashOf(toolCall)]
		if held {
			e.Position = &result.Position
			if result.Tokens >= 0 {
				e.TokensBefore = &result.Tokens
			}
		}
		if e.TokensBefore == nil {
			known = false
		} else {
			sum += *e.TokensBefore
		}
		list = append(list, e)
	}
	if known && len(list) > 0 {
		before = &sum
	}
	return list, before
}
