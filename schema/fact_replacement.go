package schema

// SourceWindow says which stretch of the item log a summary stands for. It is
// a reference, never a copy.
type SourceWindow struct {
	ThreadID      string `json:"thread_id,omitempty"`
	FirstItemRef  Ref    `json:"first_item_ref,omitzero"`
	LastItemRef   Ref    `json:"last_item_ref,omitzero"`
	FirstPosition *int64 `json:"first_position,omitempty"`
	LastPosition  *int64 `json:"last_position,omitempty"`
	ItemCount     *int64 `json:"item_count,omitempty"`
	Tokens        *int64 `json:"tokens,omitempty"`
}

// Reinjected is system state that a compaction put back.
type Reinjected struct {
	Kind   string `json:"kind"` // skills, todo, recent_files, …
	Ref    Ref    `json:"ref,omitzero"`
	Tokens *int64 `json:"tokens,omitempty"`
}

// Compaction is what the four compaction facts share. SourceItemRefs or
// SourceWindow is required: a summary that does not say what it replaces is
// refused (boundary rule 3).
type Compaction struct {
	CompactionID      string            `json:"compaction_id" ctx:"required"`
	CallID            string            `json:"call_id,omitempty"`
	Scope             string            `json:"scope" ctx:"required"`
	SourceItemRefs    []Ref             `json:"source_item_refs"`
	SourceWindow      *SourceWindow     `json:"source_window,omitempty"`
	SummaryRef        Ref               `json:"summary_ref,omitzero"`
	Method            CompactionMethod  `json:"method,omitempty"`
	Trigger           CompactionTrigger `json:"trigger,omitempty"`
	Coverage          map[string]any    `json:"coverage,omitempty"`
	LossNotes         []string          `json:"loss_notes,omitempty"`
	Validation        any               `json:"validation,omitzero"`
	ReplacementPolicy string            `json:"replacement_policy,omitempty"`
	Reinjected        []Reinjected      `json:"reinjected,omitempty"`
	RetainedTailRefs  []Ref             `json:"retained_tail_refs,omitempty"`
	TokensBefore      *int64            `json:"tokens_before,omitempty"`
	TokensAfter       *int64            `json:"tokens_after,omitempty"`
	SummarizerCallID  string            `json:"summarizer_call_id,omitempty"`
	Reason            string            `json:"reason,omitempty"` // why it failed or was discarded
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
	SummaryID             string   `json:"summary_id" ctx:"required"`
	SummaryKind           string   `json:"summary_kind,omitempty"` // thread_summary, running_log, …
	ContentRef            Ref      `json:"content_ref,omitzero"`
	Content               string   `json:"content,omitempty"`
	ContentDigest         string   `json:"content_digest,omitempty"`
	Tokens                *int64   `json:"tokens,omitempty"`
	ByteSize              *int64   `json:"byte_size,omitempty"`
	SourceItemRefs        []Ref    `json:"source_item_refs,omitempty"`
	CoversThroughPosition *int64   `json:"covers_through_position,omitempty"` // of the item log
	LossNotes             []string `json:"loss_notes,omitempty"`
	OpenQuestions         []string `json:"open_questions,omitempty"`
	Freshness             any      `json:"freshness,omitzero"`
	RefreshPolicy         string   `json:"refresh_policy,omitempty"`
	EphemeralContextID    string   `json:"ephemeral_context_id,omitempty"` // of a running log's sub-context
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
	ItemRef      Ref          `json:"item_ref"`
	ToolCallID   string       `json:"tool_call_id,omitempty"`
	Position     *int64       `json:"position,omitempty"` // in the item log
	Level        ElisionLevel `json:"level,omitempty"`    // where it differs from the pass
	TokensBefore *int64       `json:"tokens_before,omitempty"`
	TokensAfter  *int64       `json:"tokens_after,omitempty"`
	StubDigest   string       `json:"stub_digest,omitempty"`
	ReloadRef    Ref          `json:"reload_ref,omitzero"`
}

// Elision is what both elision facts share (seed 004): earlier turns were
// shortened, or brought back.
type Elision struct {
	PassID               string       `json:"pass_id" ctx:"required"`
	CallID               string       `json:"call_id,omitempty"`
	Policy               string       `json:"policy,omitempty"`
	Trigger              string       `json:"trigger,omitempty"`
	Level                ElisionLevel `json:"level,omitempty"`
	ElidedItemRefs       []Elided     `json:"elided_item_refs" ctx:"required"`
	FirstChangedPosition *int64       `json:"first_changed_position,omitempty"` // tokens of the window before the first change
	TokensBefore         *int64       `json:"tokens_before,omitempty"`          // of what was elided
	TokensAfter          *int64       `json:"tokens_after,omitempty"`
	TokensSaved          *int64       `json:"tokens_saved,omitempty"`
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
