package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

const (
	// maxRefs and maxRefBytes bound a list of references in one event. A
	// longer list becomes one reference to the stretch of the log.
	maxRefs     = 500
	maxRefBytes = 40 << 10
	// maxElided is how many results one elision event lists; a longer pass is
	// split into parts that say so.
	maxElided = 150
)

// compaction emits the fact that a summary now stands for the window so far.
func (im *claudeImport) compaction(r *record) error {
	if err := im.open(r); err != nil {
		return err
	}
	t := r.thread
	meta := r.Compact
	if meta == nil {
		meta = new(claudeCompact)
	}
	source, tail := t.log.compact(t.key.thread, meta.retains(t.log.window))
	t.covered = &source
	t.log.passed(r.uuid)
	fact := &schema.CompactionCompleted{Common: schema.Common{Metadata: r.metadata()}, Compaction: schema.Compaction{
		CompactionID: r.uuid, Scope: "thread",
		SourceItemRefs: source.refs(), SourceWindow: source.window(),
		SummaryRef: schema.Ref(im.index.summaries[r.uuid]),
		Method:     schema.MethodAbstractiveSummary, Trigger: compactionTrigger(meta.Trigger),
		ReplacementPolicy: "replace_window",
		RetainedTailRefs:  stretch{thread: t.key.thread, entries: tail}.refs(),
		TokensBefore:      im.size(r, "compactMetadata.preTokens", meta.PreTokens),
		TokensAfter:       im.size(r, "compactMetadata.postTokens", meta.PostTokens),
	}}
	if len(tail) > 0 {
		fact.ReplacementPolicy = "replace_window_keep_tail"
	}
	if fact.TokensBefore != nil {
		fact.Metadata["pre_tokens"] = *fact.TokensBefore
	}
	if source.partial {
		fact.Metadata["partial_window"] = true
	}
	if r.LogicalParentUUID != "" {
		fact.Metadata["logical_parent_uuid"] = r.LogicalParentUUID
	}
	if meta.Trigger != "" {
		fact.Metadata["trigger"] = shortText(meta.Trigger, 64)
	}
	im.report.Compactions++
	return im.orProblem(r, im.fact(r, fact, "", r.uuid, string(fact.SummaryRef)))
}

// retains tells which entries of the window the boundary keeps as they are.
func (m *claudeCompact) retains(window []entry) func(entry) bool {
	kept := make(map[string]bool)
	if m.PreservedMessages != nil {
		for _, record := range m.PreservedMessages.UUIDs {
			kept[record] = true
		}
	}
	if s := m.PreservedSegment; s != nil {
		head := slices.IndexFunc(window, func(e entry) bool { return e.record == s.HeadUUID })
		tail := slices.IndexFunc(window, func(e entry) bool { return e.record == s.TailUUID })
		if head >= 0 && tail >= head {
			for _, e := range window[head : tail+1] {
				kept[e.record] = true
			}
		}
	}
	return func(e entry) bool { return kept[e.record] }
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

// refs lists the stretch's items, or refers to it as a whole when it is long.
func (s stretch) refs() []schema.Ref {
	if len(s.entries) == 0 {
		return nil
	}
	bytes := 0
	for _, e := range s.entries {
		bytes += len(e.item) + 3
	}
	if len(s.entries) > maxRefs || bytes > maxRefBytes {
		return []schema.Ref{s.ref()}
	}
	refs := make([]schema.Ref, len(s.entries))
	for i, e := range s.entries {
		refs[i] = schema.Ref(e.item)
	}
	return refs
}

// ref refers to the stretch as a range of positions of the thread's item log,
// or to the thread alone when this log holds nothing of the stretch.
func (s stretch) ref() schema.Ref {
	members := map[string]any{"id": s.thread, "kind": "log_range", "thread_id": s.thread}
	if len(s.entries) > 0 {
		first, last := s.entries[0].position, s.entries[len(s.entries)-1].position
		members["id"] = fmt.Sprintf("%s@%d-%d", s.thread, first, last)
		members["first_position"], members["last_position"], members["item_count"] = first, last, len(s.entries)
	}
	object, err := json.Marshal(members, json.Deterministic(true))
	if err != nil { // strings and integers always encode
		return schema.Ref(s.thread)
	}
	return schema.Ref(object)
}

// summaryText gathers what the items of a summary record have in common.
type summaryText struct {
	tokens  int64
	known   bool
	size    int64
	pieces  int
	digest  string // of the only piece
	text    strings.Builder
	unknown bool
}

func (s *summaryText) add(c *content, item *schema.ItemAdded) {
	if c.layer != layerSummary {
		return
	}
	s.pieces++
	s.size += *c.size
	s.digest = item.ContentDigest
	if s.text.Len() < maxInlineBytes {
		s.text.WriteString(*c.text)
	}
	if item.TokenEstimate == nil {
		s.unknown = true
		return
	}
	s.known = true
	s.tokens += *item.TokenEstimate
}

// summary emits the summary that a record holds, after its items.
func (im *claudeImport) summary(r *record, text *summaryText) error {
	t := r.thread
	fact := &schema.SummaryCreated{Common: schema.Common{Metadata: r.metadata()}, Summary: schema.Summary{
		SummaryID: r.uuid, SummaryKind: "thread_summary", ContentRef: schema.Ref(t.source + "#" + r.uuid),
	}}
	if text.pieces > 0 {
		fact.ByteSize = &text.size
	}
	if text.pieces == 1 {
		fact.ContentDigest = text.digest
	}
	if text.known && !text.unknown {
		fact.Tokens = &text.tokens
	}
	covered := stretch{thread: t.key.thread}
	if t.covered != nil {
		covered, t.covered = *t.covered, nil
	}
	fact.SourceItemRefs = []schema.Ref{covered.ref()}
	if n := len(covered.entries); n > 0 {
		fact.CoversThroughPosition = &covered.entries[n-1].position
	}
	im.report.Summaries++
	if im.opts.StoreText && text.size > 0 && text.size < maxInlineBytes {
		inline := *fact
		inline.Content = text.text.String()
		if err := im.fact(r, &inline, "", r.uuid); err != errFactTooLarge {
			return err
		}
	}
	return im.orProblem(r, im.fact(r, fact, "", r.uuid))
}

// elision emits the fact that tool results were replaced by stubs.
func (im *claudeImport) elision(r *record) error {
	if err := im.open(r); err != nil {
		return err
	}
	t := r.thread
	meta := r.Microcompact
	if meta == nil {
		meta = new(claudeElision)
	}
	elided, before := im.elided(r, meta)
	if len(elided) == 0 {
		im.problem(r.line, &lineError{ReasonNothingElided, "the boundary names no tool result"})
		t.log.passed(r.uuid)
		return nil
	}
	im.report.Microcompactions++
	for _, e := range elided {
		t.log.elide(e.ToolCallID)
	}
	t.log.passed(r.uuid)
	saved := im.size(r, "microcompactMetadata.tokensSaved", meta.TokensSaved)
	preTokens := im.size(r, "microcompactMetadata.preTokens", meta.PreTokens)
	parts := (len(elided) + maxElided - 1) / maxElided
	for part := range parts {
		fact := &schema.ElisionApplied{Common: schema.Common{Metadata: r.metadata()}, Elision: schema.Elision{
			PassID: r.uuid, Policy: "claude-code:microcompact", Trigger: shortText(meta.Trigger, 64), Level: schema.ElideSimple,
			ElidedItemRefs: elided[part*maxElided : min((part+1)*maxElided, len(elided))],
		}}
		fact.Metadata["compacted_tool_ids"] = len(elided)
		if preTokens != nil {
			fact.Metadata["pre_tokens"] = *preTokens
		}
		if meta.Trigger != "" {
			fact.Metadata["trigger"] = fact.Trigger
		}
		if len(meta.ClearedAttachments) > 0 {
			fact.Metadata["cleared_attachments"] = len(meta.ClearedAttachments)
		}
		if parts > 1 {
			fact.PassID = fmt.Sprintf("%s:%d", r.uuid, part+1)
			fact.Metadata["part"], fact.Metadata["parts"] = part+1, parts
		}
		if part == 0 { // the totals of the pass stand once
			fact.TokensSaved, fact.TokensBefore = saved, before
		}
		if err := im.orProblem(r, im.fact(r, fact, "", r.uuid, fmt.Sprint(part))); err != nil {
			return err
		}
	}
	return nil
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
		result, held := r.thread.log.results[toolCall]
		if held {
			e.Position, e.TokensBefore = &result.position, result.tokens
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

// size is a count of the log, unknown when it is negative.
func (im *claudeImport) size(r *record, name string, n *int64) *int64 {
	if n != nil && *n < 0 {
		im.problem(r.line, &lineError{ReasonNegativeUsage, name + " is negative"})
		return nil
	}
	return n
}
