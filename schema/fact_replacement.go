package schema

// SourceWindow says which stretch of the item log a summary stands for. It is
// a reference, never a copy.
type SourceWindow struct {
	ThreadID      string `json:"thread_id,omitempty"`      // the thread
	FirstItemRef  Ref    `json:"first_item_ref,omitzero"`  // its first item
	LastItemRef   Ref    `json:"last_item_ref,omitzero"`   // its last item
	FirstPosition *int64 `json:"first_position,omitempty"` // of the item log
	LastPosition  *int64 `json:"last_position,omitempty"`  // of the item log, included
	ItemCount     *int64 `json:"item_count,omitempty"`     // items in the window
	Tokens        *int64 `json:"tokens,omitempty"`         // by the estimator of the call
}

// Reinjected is system state that a compaction put back.
type Reinjected struct {
	Kind   string `json:"kind"`             // skills, todo, recent_files, …
	Ref    Ref    `json:"ref,omitzero"`     // where the state is
	Tokens *int64 `json:"tokens,omitempty"` // by the estimator of the call
}

// Compaction is what the four compaction facts share. SourceItemRefs or
// SourceWindow is required: a summary that does not say what it replaces is
// refused (boundary rule 3).
type Compaction struct {
	CompactionID      string            `json:"compaction_id" ctx:"required"`       // id of the record; the same from started to its end
	CallID            string            `json:"call_id,omitempty"`                  // the model call that it belongs to
	Scope             string            `json:"scope" ctx:"required" words:"Scope"` // what it is about
	SourceItemRefs    []Ref             `json:"source_item_refs"`                   // items that the summary stands for, in order
	SourceWindow      *SourceWindow     `json:"source_window,omitempty"`            // the stretch of the log that the summary stands for
	SummaryRef        Ref               `json:"summary_ref,omitzero"`               // the summary
	Method            CompactionMethod  `json:"method,omitempty"`                   // how the summary was made
	Trigger           CompactionTrigger `json:"trigger,omitempty"`                  // what made it start
	Coverage          map[string]any    `json:"coverage,omitempty"`                 // what the summary covers, in the summariser's words and counts
	LossNotes         []string          `json:"loss_notes,omitempty"`               // what the summary leaves out
	Validation        any               `json:"validation,omitzero"`                // whether and how the summary was checked
	ReplacementPolicy string            `json:"replacement_policy,omitempty"`       // whether the summary replaces its source in the window
	Reinjected        []Reinjected      `json:"reinjected,omitempty"`               // system state that was put back
	RetainedTailRefs  []Ref             `json:"retained_tail_refs,omitempty"`       // the latest items, which stay as they are
	TokensBefore      *int64            `json:"tokens_before,omitempty"`            // tokens before
	TokensAfter       *int64            `json:"tokens_after,omitempty"`             // tokens left
	SummarizerCallID  string            `json:"summarizer_call_id,omitempty"`       // the model call that wrote the summary
	GoalRefs          []Ref             `json:"goal_refs,omitempty"`                // goals that were in force before
	Reason            string            `json:"reason,omitempty"`                   // why it failed or was discarded
}

func (c *Compaction) RecordID() string { return c.CompactionID }

// CompactionStarted records that a window is about to be replaced.
type CompactionStarted struct {
	Common
	Compaction
}

// CompactionCompleted records that a summary now stands for its source
// window.
type CompactionCompleted struct {
	Common
	Compaction
}

// CompactionFailed records that no summary came about; the window stands.
type CompactionFailed struct {
	Common
	Compaction
}

// CompactionDiscarded records that a summary came about and was not used. It
// is never shown as a success.
type CompactionDiscarded struct {
	Common
	Compaction
}

func (*CompactionStarted) EventType() Type   { return TypeCompactionStarted }
func (*CompactionCompleted) EventType() Type { return TypeCompactionCompleted }
func (*CompactionFailed) EventType() Type    { return TypeCompactionFailed }
func (*CompactionDiscarded) EventType() Type { return TypeCompactionDiscarded }

// Summary stands for a stretch of the item log.
type Summary struct {
	SummaryID             string   `json:"summary_id" ctx:"required"`         // id of the record
	SummaryKind           string   `json:"summary_kind,omitempty"`            // thread_summary, running_log, …
	ContentRef            Ref      `json:"content_ref,omitzero"`              // where the content is
	Content               string   `json:"content,omitempty"`                 // the text itself, where a producer chose to inline it
	ContentDigest         string   `json:"content_digest,omitempty"`          // keyed digest of the content
	Tokens                *int64   `json:"tokens,omitempty"`                  // by the estimator of the call
	ByteSize              *int64   `json:"byte_size,omitempty"`               // bytes of the content
	SourceItemRefs        []Ref    `json:"source_item_refs,omitempty"`        // items that the summary stands for, in order
	CoversThroughPosition *int64   `json:"covers_through_position,omitempty"` // of the item log
	LossNotes             []string `json:"loss_notes,omitempty"`              // what the summary leaves out
	OpenQuestions         []string `json:"open_questions,omitempty"`          // what the summary leaves open
	Freshness             any      `json:"freshness,omitzero"`                // how current it is: a word or an object
	RefreshPolicy         string   `json:"refresh_policy,omitempty"`          // when it is brought up to date
	EphemeralContextID    string   `json:"ephemeral_context_id,omitempty"`    // of a running log's sub-context
	SummarizerCallID      string   `json:"summarizer_call_id,omitempty"`      // the model call that wrote the summary
	GoalRefs              []Ref    `json:"goal_refs,omitempty"`               // goals that the summary keeps
}

func (s *Summary) RecordID() string { return s.SummaryID }

// SummaryCreated records a new summary.
type SummaryCreated struct {
	Common
	Summary
}

// SummaryRefreshed records the whole summary after it was brought up to date.
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
	Position     *int64       `json:"position,omitempty"`      // in the item log
	Level        ElisionLevel `json:"level,omitempty"`         // where it differs from the pass
	TokensBefore *int64       `json:"tokens_before,omitempty"` // tokens before
	TokensAfter  *int64       `json:"tokens_after,omitempty"`  // tokens left
	StubDigest   string       `json:"stub_digest,omitempty"`   // keyed digest of what stands there now
	ReloadRef    Ref          `json:"reload_ref,omitzero"`     // where the full content can be read again
	Note         string       `json:"note,omitempty"`          // what the agent did with it, as the stub says
	Reason       string       `json:"reason,omitempty"`        // why this item, and not another
}

// Elision is what both elision facts share (seed 004): earlier turns were
// shortened, or brought back.
type Elision struct {
	PassID               string       `json:"pass_id" ctx:"required"`           // id of the record: the pass
	CallID               string       `json:"call_id,omitempty"`                // the model call that it belongs to
	Policy               string       `json:"policy,omitempty"`                 // the policy that decided
	Trigger              string       `json:"trigger,omitempty"`                // what made it start
	Level                ElisionLevel `json:"level,omitempty"`                  // how much is left of an item
	ElidedItemRefs       []Elided     `json:"elided_item_refs" ctx:"required"`  // the items of the pass
	FirstChangedPosition *int64       `json:"first_changed_position,omitempty"` // tokens of the window before the first change
	TokensBefore         *int64       `json:"tokens_before,omitempty"`          // of what was elided
	TokensAfter          *int64       `json:"tokens_after,omitempty"`           // tokens left
	TokensSaved          *int64       `json:"tokens_saved,omitempty"`           // tokens
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
