package importer

import "github.com/ctxledger/ctxledger/schema"

// boundary emits the compaction that a compact_boundary tells of.
func (im *claudeImport) boundary(r *record) error {
	if err := im.open(r); err != nil {
		return err
	}
	meta := r.Compact
	if meta == nil {
		meta = new(claudeCompact)
	}
	retained := meta.retains(&r.thread.log.window)
	r.thread.log.passed(r.record)
	c := &compaction{
		id: r.record, retained: retained, summary: schema.Ref(im.index.summaries[r.record]),
		method: schema.MethodAbstractiveSummary, trigger: compactionTrigger(meta.Trigger), policy: "replace_window",
		before: im.count(&r.origin, "compactMetadata.preTokens", meta.PreTokens),
		after:  im.count(&r.origin, "compactMetadata.postTokens", meta.PostTokens),
		extra:  make(map[string]any),
	}
	if c.before != nil {
		c.extra["pre_tokens"] = *c.before
	}
	if r.LogicalParentUUID != "" {
		c.extra["logical_parent_uuid"] = r.LogicalParentUUID
	}
	if meta.Trigger != "" {
		c.extra["trigger"] = shortText(meta.Trigger, 64)
	}
	return im.compaction(&r.origin, c)
}

// retains tells which entries of the window the boundary keeps as they are.
func (m *claudeCompact) retains(window *list[entry]) func(*entry) bool {
	kept := make(map[uint64]bool)
	if m.PreservedMessages != nil {
		for _, record := range m.PreservedMessages.UUIDs {
			kept[hashOf(record)] = true
		}
	}
	if s := m.PreservedSegment; s != nil {
		first, last := hashOf(s.HeadUUID), hashOf(s.TailUUID)
		head, tail := -1, -1
		for i, e := range window.all() {
			if head < 0 && e.record == first {
				head = i
			}
			if tail < 0 && e.record == last {
				tail = i
			}
		}
		for i := max(head, 0); head >= 0 && i <= tail; i++ {
			kept[window.at(i).record] = true
		}
	}
	return func(e *entry) bool { return kept[e.record] }
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

// microcompact emits the elision that a microcompact_boundary tells of.
func (im *claudeImport) microcompact(r *record) error {
	if err := im.open(r); err != nil {
		return err
	}
	t := r.thread
	meta := r.Microcompact
	if meta == nil {
		meta = new(claudeElision)
	}
	elided, before := im.elided(r, meta)
	t.log.passed(r.record)
	if len(elided) == 0 {
		im.problem(r.line, &lineError{ReasonNothingElided, "the boundary names no tool result"})
		return nil
	}
	for _, e := range elided {
		t.log.elide(e.ToolCallID)
	}
	e := &elision{
		id: r.record, policy: "claude-code:microcompact", trigger: shortText(meta.Trigger, 64), level: schema.ElideSimple, items: elided, before: before,
		saved: im.count(&r.origin, "microcompactMetadata.tokensSaved", meta.TokensSaved),
		extra: map[string]any{"compacted_tool_ids": len(elided)},
	}
	if preTokens := im.count(&r.origin, "microcompactMetadata.preTokens", meta.PreTokens); preTokens != nil {
		e.extra["pre_tokens"] = *preTokens
	}
	if meta.Trigger != "" {
		e.extra["trigger"] = e.trigger
	}
	if len(meta.ClearedAttachments) > 0 {
		e.extra["cleared_attachments"] = len(meta.ClearedAttachments)
	}
	return im.elision(&r.origin, e)
}

// elided lists what the pass elided, with position and tokens where this log
// holds the result, and the tokens of all when all are known.
func (im *claudeImport) elided(r *record, meta *claudeElision) (list []schema.Elided, before *int64) {
	var sum int64
	known := true
	for _, toolCall := range meta.CompactedToolIDs {
		if toolCall == "" || !validID(toolCall) {
			im.problem(r.line, &lineError{ReasonBadID, "microcompactMetadata.compactedToolIds holds an id that cannot travel"})
			continue
		}
		e := schema.Elided{ItemRef: schema.Ref(resultID(toolCall)), ToolCallID: toolCall}
		result, held := r.thread.log.results[hashOf(toolCall)]
		if held {
			e.Position = &result.position
			if result.tokens >= 0 {
				e.TokensBefore = &result.tokens
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
