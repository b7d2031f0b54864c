package schema

// SourceWindow names the range of the item log that a summary covers. SourceWindow is a
// reference, never a copy.
type SourceWindow struct {
	ThreadID      string `json:"thread_id,omitempty"`      // the thread
	FirstItemRef  Ref    `json:"first_item_ref,omitzero"`  // its first item
	LastItemRef   Ref    `json:"last_item_ref,omitzero"`   // its last item
	FirstPosition *int64 `json:"first_position,omitempty"` // first position in the item log
	LastPosition  *int64 `json:"last_position,omitempty"`  // last position in the item log, included
	ItemCount     *int64 `json:"item_count,omitempty"`     // items in the window
	Tokens        *int64 `json:"tokens,omitempty"`         // tokens by the call's estimator
}

// Reinjected is system state that a compaction put back into the window.
type Reinjected struct {
	Kind   string `json:"kind"`             // kind of the state: skills, todo, recent_files, …
	Ref    Ref    `json:"ref,omitzero"`     // location of the state
	Tokens *int64 `json:"tokens,omitempty"` // tokens by the call's estimator
}

// Compaction holds the members that the four compaction facts share. SourceItemRefs or
// SourceWindow is required. A compaction without both is refused (boundary rule 3).
type Compaction struct {
	CompactionID      string            `json:"compaction_id" ctx:"required"`       // id of the record; the same in all facts of the compaction
	CallID            string            `json:"call_id,omitempty"`                  // the model call of the record
	Scope             string            `json:"scope" ctx:"required" words:"Scope"` // the scope that the record is about
	SourceItemRefs    []Ref             `json:"source_item_refs"`                   // items that the summary covers, in order
	SourceWindow      *SourceWindow     `json:"source_window,omitempty"`            // the range of the item log that the summary covers
	SummaryRef        Ref               `json:"summary_ref,omitzero"`               // the summary
	Method            CompactionMethod  `json:"method,omitempty"`                   // how the summary was made
	Trigger           CompactionTrigger `json:"trigger,omitempty"`                  // the cause that started the compaction
	Coverage          map[string]any    `json:"coverage,omitempty"`                 // coverage of the summary, in the summariser's words and counts
	LossNotes         []string          `json:"loss_notes,omitempty"`               // content that the summary leaves out
	Validation        any               `json:"validation,omitzero"`                // whether and how the summary was checked
	ReplacementPolicy string            `json:"replacement_policy,omitempty"`       // whether the summary replaces its source in the window
	Reinjected        []Reinjected      `json:"reinjected,omitempty"`               // system state that was put back into the window
	RetainedTailRefs  []Ref             `json:"retained_tail_refs,omitempty"`       // the latest items, which remain unchanged
	TokensBefore      *int64            `json:"tokens_before,omitempty"`            // tokens before the change
	TokensAfter       *int64            `json:"tokens_after,omitempty"`             // tokens after the change
	SummarizerCallID  string            `json:"summarizer_call_id,omitempty"`       // the model call that wrote the summary
	GoalRefs          []Ref             `json:"goal_refs,omitempty"`                // goals in force before the compaction
	Reason            string            `json:"reason,omitempty"`                   // why the compaction failed or was discarded
}

func (c *Compaction) RecordID() string { return c.CompactionID }

// CompactionStarted records the start of a compaction. The window is not replaced yet.
type CompactionStarted struct {
	Common
	Compaction
}

// CompactionCompleted records that a summary replaced its source window.
type CompactionCompleted struct {
	Common
	Compaction
}

// CompactionFailed records that a compaction produced no summary. The window is unchanged.
type CompactionFailed struct {
	Common
	Compaction
}

// CompactionDiscarded records that a compaction produced a summary and discarded it. The
// compaction is never shown as a success.
type CompactionDiscarded struct {
	Common
	Compaction
}

func (*CompactionStarted) EventType() Type   { return TypeCompactionStarted }
func (*CompactionCompleted) EventType() Type { return TypeCompactionCompleted }
func (*CompactionFailed) EventType() Type    { return TypeCompactionFailed }
func (*CompactionDiscarded) EventType() Type { return TypeCompactionDiscarded }

// Summary covers a range of the item log.
type Summary struct {
	SummaryID             string   `json:"summary_id" ctx:"required"`         // id of the record
	SummaryKind           string   `json:"summary_kind,omitempty"`            // kind of the summary: thread_summary, running_log, …
	ContentRef            Ref      `json:"content_ref,omitzero"`              // location of the content
	Content               string   `json:"content,omitempty"`                 // the text, if the producer chose to send it inline
	ContentDigest         string   `json:"content_digest,omitempty"`          // keyed digest of the content
	Tokens                *int64   `json:"tokens,omitempty"`                  // tokens by the call's estimator
	ByteSize              *int64   `json:"byte_size,omitempty"`               // bytes of the content
	SourceItemRefs        []Ref    `json:"source_item_refs,omitempty"`        // items that the summary covers, in order
	CoversThroughPosition *int64   `json:"covers_through_position,omitempty"` // last position in the item log that the summary covers
	LossNotes             []string `json:"loss_notes,omitempty"`              // content that the summary leaves out
	OpenQuestions         []string `json:"open_questions,omitempty"`          // questions that the summary leaves open
	Freshness             any      `json:"freshness,omitzero"`                // how current the content is: a word or an object
	RefreshPolicy         string   `json:"refresh_policy,omitempty"`          // when the summary is refreshed
	EphemeralContextID    string   `json:"ephemeral_context_id,omitempty"`    // id of the running log's sub-context
	SummarizerCallID      string   `json:"summarizer_call_id,omitempty"`      // the model call that wrote the summary
	GoalRefs              []Ref    `json:"goal_refs,omitempty"`               // goals that the summary keeps
}

func (s *Summary) RecordID() string { return s.SummaryID }

// SummaryCreated records a new summary.
type SummaryCreated struct {
	Common
	Summary
}

// SummaryRefreshed records the whole summary after a refresh.
type SummaryRefreshed struct {
	Common
	Summary
}

func (*SummaryCreated) EventType() Type   { return TypeSummaryCreated }
func (*SummaryRefreshed) EventType() Type { return TypeSummaryRefreshed }

// Elided is one item of an elision pass.
type Elided struct {
	ItemRef      Ref          `json:"item_ref"`                // the item
	ToolCallID   string       `json:"tool_call_id,omitempty"`  // the tool call
	Position     *int64       `json:"position,omitempty"`      // position in the item log
	Level        ElisionLevel `json:"level,omitempty"`         // level of the item, if it differs from the level of the pass
	TokensBefore *int64       `json:"tokens_before,omitempty"` // tokens before the change
	TokensAfter  *int64       `json:"tokens_after,omitempty"`  // tokens after the change
	StubDigest   string       `json:"stub_digest,omitempty"`   // keyed digest of the stub
	ReloadRef    Ref          `json:"reload_ref,omitzero"`     // location of the full content
	Note         string       `json:"note,omitempty"`          // how the agent used the item, as the stub reports
	Reason       string       `json:"reason,omitempty"`        // why the pass chose this item
}

// Elision holds the members that both elision facts share (seed 004): earlier turns were
// shortened or restored.
type Elision struct {
	PassID               string       `json:"pass_id" ctx:"required"`           // id of the record: the pass
	CallID               string       `json:"call_id,omitempty"`                // the model call of the record
	Policy               string       `json:"policy,omitempty"`                 // the policy that decided
	Trigger              string       `json:"trigger,omitempty"`                // the cause that started the pass
	Level                ElisionLevel `json:"level,omitempty"`                  // how much is left of an item
	ElidedItemRefs       []Elided     `json:"elided_item_refs" ctx:"required"`  // the items of the pass
	FirstChangedPosition *int64       `json:"first_changed_position,omitempty"` // tokens of the window before the first change
	TokensBefore         *int64       `json:"tokens_before,omitempty"`          // tokens of the elided items before the pass
	TokensAfter          *int64       `json:"tokens_after,omitempty"`           // tokens after the change
	TokensSaved          *int64       `json:"tokens_saved,omitempty"`           // tokens that the pass saved
}

func (e *Elision) RecordID() string { return e.PassID }

// ElisionApplied records a pass that shortened items.
type ElisionApplied struct {
	Common
	Elision
}

// ElisionReloaded records elided items that were read again in full.
type ElisionReloaded struct {
	Common
	Elision
}

func (*ElisionApplied) EventType() Type  { return TypeElisionApplied }
func (*ElisionReloaded) EventType() Type { return TypeElisionReloaded }
