package row

import "github.com/ctxledger/ctxledger/schema"

// Replacement is a row of the table replacements: a compaction, an elision
// pass or a summary. The elided arrays run over the elided items.
type Replacement struct {
	Head
	RecordKind            string   `ch:"record_kind"`
	Change                string   `ch:"change"`
	RecordID              string   `ch:"record_id"`
	CallID                string   `ch:"call_id"`
	Scope                 string   `ch:"scope"`
	SourceItemRefs        []string `ch:"source_item_refs"`
	SourceThreadID        string   `ch:"source_thread_id"`
	FirstItemRef          string   `ch:"first_item_ref"`
	LastItemRef           string   `ch:"last_item_ref"`
	FirstPosition         *int64   `ch:"first_position"`
	LastPosition          *int64   `ch:"last_position"`
	ItemCount             *int64   `ch:"item_count"`
	SourceTokens          *int64   `ch:"source_tokens"`
	SummaryRef            string   `ch:"summary_ref"`
	Method                string   `ch:"method"`
	Trigger               string   `ch:"trigger"`
	Policy                string   `ch:"policy"`
	Level                 string   `ch:"level"`
	Coverage              string   `ch:"coverage"`
	LossNotes             []string `ch:"loss_notes"`
	Validation            string   `ch:"validation"`
	ReplacementPolicy     string   `ch:"replacement_policy"`
	ReinjectedKinds       []string `ch:"reinjected_kinds"`
	ReinjectedRefs        []string `ch:"reinjected_refs"`
	ReinjectedTokens      []*int64 `ch:"reinjected_tokens"`
	RetainedTailRefs      []string `ch:"retained_tail_refs"`
	TokensBefore          *int64   `ch:"tokens_before"`
	TokensAfter           *int64   `ch:"tokens_after"`
	TokensSaved           *int64   `ch:"tokens_saved"`
	FirstChangedPosition  *int64   `ch:"first_changed_position"`
	SummarizerCallID      string   `ch:"summarizer_call_id"`
	Reason                string   `ch:"reason"`
	ElidedRefs            []string `ch:"elided_refs"`
	ElidedToolCallIDs     []string `ch:"elided_tool_call_ids"`
	ElidedPositions       []*int64 `ch:"elided_positions"`
	ElidedBefore          []*int64 `ch:"elided_before"`
	ElidedAfter           []*int64 `ch:"elided_after"`
	ElidedLevels          []string `ch:"elided_levels"`
	ElidedReloadRefs      []string `ch:"elided_reload_refs"`
	SummaryKind           string   `ch:"summary_kind"`
	ContentRef            string   `ch:"content_ref"`
	ContentDigest         string   `ch:"content_digest"`
	Tokens                *int64   `ch:"tokens"`
	CoversThroughPosition *int64   `ch:"covers_through_position"`
	OpenQuestions         []string `ch:"open_questions"`
	RefreshPolicy         string   `ch:"refresh_policy"`
	EphemeralContextID    string   `ch:"ephemeral_context_id"`
	Metadata              string   `ch:"metadata"`
	ElidedNotes           []string `ch:"elided_notes"`
	ElidedStubDigests     []string `ch:"elided_stub_digests"`
	ElidedReasons         []string `ch:"elided_reasons"`
	GoalRefs              []string `ch:"goal_refs"`
}

func Compaction(h Head, change string, c *schema.Common, f *schema.Compaction) Replacement {
	row := Replacement{
		Head: h, RecordKind: "compaction", Change: change, RecordID: f.CompactionID, CallID: f.CallID, Scope: f.Scope,
		SourceItemRefs: schema.RefIDs(f.SourceItemRefs), SummaryRef: f.SummaryRef.ID(), Method: string(f.Method), Trigger: string(f.Trigger),
		Coverage: JSONText(f.Coverage), LossNotes: f.LossNotes, Validation: JSONText(f.Validation), ReplacementPolicy: f.ReplacementPolicy,
		RetainedTailRefs: schema.RefIDs(f.RetainedTailRefs), TokensBefore: f.TokensBefore, TokensAfter: f.TokensAfter,
		SummarizerCallID: f.SummarizerCallID, Reason: f.Reason, Metadata: JSONText(c.Metadata), GoalRefs: schema.RefIDs(f.GoalRefs),
	}
	if w := f.SourceWindow; w != nil {
		row.SourceThreadID, row.FirstItemRef, row.LastItemRef = w.ThreadID, w.FirstItemRef.ID(), w.LastItemRef.ID()
		row.FirstPosition, row.LastPosition, row.ItemCount, row.SourceTokens = w.FirstPosition, w.LastPosition, w.ItemCount, w.Tokens
	}
	row.ReinjectedKinds = each(f.Reinjected, func(r *schema.Reinjected) string { return r.Kind })
	row.ReinjectedRefs = each(f.Reinjected, func(r *schema.Reinjected) string { return r.Ref.ID() })
	row.ReinjectedTokens = each(f.Reinjected, func(r *schema.Reinjected) *int64 { return r.Tokens })
	return row
}

func Elision(h Head, change string, c *schema.Common, f *schema.Elision) Replacement {
	row := Replacement{
		Head: h, RecordKind: "elision", Change: change, RecordID: f.PassID, CallID: f.CallID, Policy: f.Policy, Trigger: f.Trigger,
		Level: string(f.Level), TokensBefore: f.TokensBefore, TokensAfter: f.TokensAfter, TokensSaved: f.TokensSaved,
		FirstChangedPosition: f.FirstChangedPosition, Metadata: JSONText(c.Metadata),
	}
	row.ElidedRefs = each(f.ElidedItemRefs, func(e *schema.Elided) string { return e.ItemRef.ID() })
	row.ElidedToolCallIDs = each(f.ElidedItemRefs, func(e *schema.Elided) string { return e.ToolCallID })
	row.ElidedPositions = each(f.ElidedItemRefs, func(e *schema.Elided) *int64 { return e.Position })
	row.ElidedBefore = each(f.ElidedItemRefs, func(e *schema.Elided) *int64 { return e.TokensBefore })
	row.ElidedAfter = each(f.ElidedItemRefs, func(e *schema.Elided) *int64 { return e.TokensAfter })
	row.ElidedLevels = each(f.ElidedItemRefs, func(e *schema.Elided) string { return string(e.Level) })
	row.ElidedReloadRefs = each(f.ElidedItemRefs, func(e *schema.Elided) string { return e.ReloadRef.ID() })
	row.ElidedNotes = said(f.ElidedItemRefs, func(e *schema.Elided) string { return e.Note })
	row.ElidedStubDigests = said(f.ElidedItemRefs, func(e *schema.Elided) string { return e.StubDigest })
	row.ElidedReasons = said(f.ElidedItemRefs, func(e *schema.Elided) string { return e.Reason })
	return row
}

func Summary(h Head, change string, c *schema.Common, f *schema.Summary) Replacement {
	return Replacement{
		Head: h, RecordKind: "summary", Change: change, RecordID: f.SummaryID, SummaryRef: f.SummaryID, SummaryKind: f.SummaryKind,
		SourceItemRefs: schema.RefIDs(f.SourceItemRefs), ContentRef: f.ContentRef.ID(), ContentDigest: f.ContentDigest, Tokens: f.Tokens,
		CoversThroughPosition: f.CoversThroughPosition, LossNotes: f.LossNotes, OpenQuestions: f.OpenQuestions,
		RefreshPolicy: f.RefreshPolicy, EphemeralContextID: f.EphemeralContextID, SummarizerCallID: f.SummarizerCallID,
		GoalRefs: schema.RefIDs(f.GoalRefs), Metadata: JSONText(c.Metadata),
	}
}
