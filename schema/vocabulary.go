package schema

// The vocabularies of the Agent Context standard (seed 001). They are open:
// a newer producer may use a word that is not here, and it is kept.

// ContentMode says how an item carries its content.
type ContentMode string

// The values of [ContentMode].
const (
	ContentInline           ContentMode = "inline"
	ContentRef              ContentMode = "ref"
	ContentSummary          ContentMode = "summary"
	ContentEmbeddedResource ContentMode = "embedded_resource"
	ContentResourceLink     ContentMode = "resource_link"
	ContentArtifactRef      ContentMode = "artifact_ref"
	ContentToolResultRef    ContentMode = "tool_result_ref"
	ContentOpaque           ContentMode = "opaque"
)

// OmissionReason says why a candidate was left out.
type OmissionReason string

// The values of [OmissionReason].
const (
	OmitBudgetLimit         OmissionReason = "budget_limit"
	OmitLowRelevance        OmissionReason = "low_relevance"
	OmitDuplicate           OmissionReason = "duplicate"
	OmitStale               OmissionReason = "stale"
	OmitPolicyBlocked       OmissionReason = "policy_blocked"
	OmitPermissionMissing   OmissionReason = "permission_missing"
	OmitUnsupportedMedia    OmissionReason = "unsupported_media"
	OmitTooLarge            OmissionReason = "too_large"
	OmitSensitive           OmissionReason = "sensitive"
	OmitSupersededBySummary OmissionReason = "superseded_by_summary"
	OmitNotVisibleToTarget  OmissionReason = "not_visible_to_target"
	OmitCustom              OmissionReason = "custom"
)

// OverflowStrategy says what a budget does when the window does not fit.
type OverflowStrategy string

// The values of [OverflowStrategy].
const (
	OverflowReject               OverflowStrategy = "reject"
	OverflowTruncateTail         OverflowStrategy = "truncate_tail"
	OverflowTruncateMiddle       OverflowStrategy = "truncate_middle"
	OverflowSummarizeOldest      OverflowStrategy = "summarize_oldest"
	OverflowSummarizeLowPriority OverflowStrategy = "summarize_low_priority"
	OverflowDeferToRetrieval     OverflowStrategy = "defer_to_retrieval"
	OverflowAskForChoice         OverflowStrategy = "ask_for_choice"
	OverflowPolicyBlock          OverflowStrategy = "policy_block"
	OverflowCustom               OverflowStrategy = "custom"
)

// InjectionPoint says where in a request injected context stands.
type InjectionPoint string

// The values of [InjectionPoint].
const (
	InjectSystemPrompt        InjectionPoint = "system_prompt"
	InjectDeveloperPrompt     InjectionPoint = "developer_prompt"
	InjectMessageHistory      InjectionPoint = "message_history"
	InjectUserMessageAppendix InjectionPoint = "user_message_appendix"
	InjectToolArgument        InjectionPoint = "tool_argument"
	InjectToolVisibleResource InjectionPoint = "tool_visible_resource"
	InjectRuntimeMetadata     InjectionPoint = "runtime_metadata"
	InjectUiPanel             InjectionPoint = "ui_panel"
	InjectReviewExport        InjectionPoint = "review_export"
	InjectPeerAgentMessage    InjectionPoint = "peer_agent_message"
	InjectArtifactInput       InjectionPoint = "artifact_input"
	InjectCustom              InjectionPoint = "custom"
)

// CompactionMethod says how a summary was made.
type CompactionMethod string

// The values of [CompactionMethod].
const (
	MethodExtractiveSummary      CompactionMethod = "extractive_summary"
	MethodAbstractiveSummary     CompactionMethod = "abstractive_summary"
	MethodStructuredDigest       CompactionMethod = "structured_digest"
	MethodRollingSummary         CompactionMethod = "rolling_summary"
	MethodSemanticMemoryUpdate   CompactionMethod = "semantic_memory_update"
	MethodHumanCuratedSummary    CompactionMethod = "human_curated_summary"
	MethodProviderContextEditing CompactionMethod = "provider_context_editing"
	MethodCustom                 CompactionMethod = "custom"
)

// CompactionTrigger says what made a compaction start.
type CompactionTrigger string

// The values of [CompactionTrigger].
const (
	TriggerManual                 CompactionTrigger = "manual"
	TriggerTokenPressure          CompactionTrigger = "token_pressure"
	TriggerSessionLength          CompactionTrigger = "session_length"
	TriggerTaskBoundary           CompactionTrigger = "task_boundary"
	TriggerHandoff                CompactionTrigger = "handoff"
	TriggerRetention              CompactionTrigger = "retention"
	TriggerPrivacy                CompactionTrigger = "privacy"
	TriggerProviderContextEditing CompactionTrigger = "provider_context_editing"
	TriggerCustom                 CompactionTrigger = "custom"
)

// RedactionState says how much of an item is withheld.
type RedactionState string

// The values of [RedactionState].
const (
	RedactionNone          RedactionState = "none"
	RedactionMasked        RedactionState = "masked"
	RedactionRemoved       RedactionState = "removed"
	RedactionSummarized    RedactionState = "summarized"
	RedactionEncryptedRef  RedactionState = "encrypted_ref"
	RedactionPolicyBlocked RedactionState = "policy_blocked"
	RedactionUnknown       RedactionState = "unknown"
)

// Severity says how much a gap hurts.
type Severity string

// The values of [Severity].
const (
	SeverityInfo     Severity = "info"
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityBlocking Severity = "blocking"
)

// MissingStatus is the state of a gap.
type MissingStatus string

// The values of [MissingStatus].
const (
	StatusOpen      MissingStatus = "open"
	StatusRequested MissingStatus = "requested"
	StatusWaiting   MissingStatus = "waiting"
	StatusResolved  MissingStatus = "resolved"
	StatusDeclined  MissingStatus = "declined"
	StatusBlocked   MissingStatus = "blocked"
	StatusExpired   MissingStatus = "expired"
)

// Lifecycle is the state of an envelope.
type Lifecycle string

// The values of [Lifecycle].
const (
	LifecycleDraft     Lifecycle = "draft"
	LifecycleAvailable Lifecycle = "available"
	LifecycleSelected  Lifecycle = "selected"
	LifecycleAssembled Lifecycle = "assembled"
	LifecycleInjected  Lifecycle = "injected"
	LifecycleCompacted Lifecycle = "compacted"
	LifecycleRedacted  Lifecycle = "redacted"
	LifecycleExpired   Lifecycle = "expired"
	LifecycleArchived  Lifecycle = "archived"
)

// PressureOutcome says what a rung of the pressure ladder did (seed 000).
type PressureOutcome string

// The values of [PressureOutcome].
const (
	OutcomeApplied      PressureOutcome = "applied"
	OutcomeSkipped      PressureOutcome = "skipped"
	OutcomeInsufficient PressureOutcome = "insufficient"
	OutcomeFailed       PressureOutcome = "failed"
)

// ElisionLevel says how much of an elided item is left (seed 004).
type ElisionLevel string

// The values of [ElisionLevel].
const (
	ElideTrivial    ElisionLevel = "trivial"
	ElideSimple     ElisionLevel = "simple"
	ElideOffloaded  ElisionLevel = "offloaded"
	ElideSummarized ElisionLevel = "summarized"
	ElideHybrid     ElisionLevel = "hybrid"
)

// ResourceOutcome says what came of a declared resource (seed 002).
type ResourceOutcome string

// The values of [ResourceOutcome].
const (
	ResourceBound      ResourceOutcome = "resolved"
	ResourceUnresolved ResourceOutcome = "unresolved" // no provider has its kind
)

// The words below fill fields that are strings in the Go types, and open ones:
// the field's tag `words` names its list. Scopes and visibility targets are
// the Agent Context standard's own. For kinds of items, surfaces, sources and
// selectors the standard's schemas and the seeds give no list; what stands here
// are the words of the standard's examples, of Agent Evidence's selectors and
// of our own producers.

// Scope says what a record or an envelope is about.
type Scope string

// The values of [Scope] that the standard's envelope allows.
const (
	ScopeTurn           Scope = "turn"
	ScopeTask           Scope = "task"
	ScopeSession        Scope = "session"
	ScopeToolInvocation Scope = "tool_invocation"
	ScopeReview         Scope = "review"
	ScopeHandoff        Scope = "handoff"
	ScopeCustom         Scope = "custom"
)

// Visibility says who may see something.
type Visibility string

// The values of [Visibility].
const (
	VisibleModel          Visibility = "model"
	VisibleTool           Visibility = "tool"
	VisibleRuntime        Visibility = "runtime"
	VisibleUI             Visibility = "ui"
	VisibleUser           Visibility = "user"
	VisibleReviewer       Visibility = "reviewer"
	VisiblePeerAgent      Visibility = "peer_agent"
	VisibleEvidenceExport Visibility = "evidence_export"
)

// ContextKind says what an item is. The standard gives no closed list.
type ContextKind string

// Values of [ContextKind].
const (
	KindSystemInstruction ContextKind = "system_instruction"
	KindSystemReminder    ContextKind = "system_reminder"
	KindToolDefinition    ContextKind = "tool_definition"
	KindUserMessage       ContextKind = "user_message"
	KindAssistantMessage  ContextKind = "assistant_message"
	KindToolCall          ContextKind = "tool_call"
	KindToolResult        ContextKind = "tool_result"
	KindFileExcerpt       ContextKind = "file_excerpt"
	KindDocument          ContextKind = "document"
	KindKnowledgePackItem ContextKind = "knowledge_pack_item"
	KindMemory            ContextKind = "memory"
	KindComputedSummary   ContextKind = "computed_summary"
)

// SurfaceKind says what a surface offers. The standard gives no closed list.
type SurfaceKind string

// Values of [SurfaceKind].
const (
	SurfaceWorkspace SurfaceKind = "workspace"
	SurfaceModelCall SurfaceKind = "model_call"
)

// SourceKind says what a source is. The standard gives no closed list.
type SourceKind string

// Values of [SourceKind].
const (
	SourceFile     SourceKind = "file"
	SourceArtifact SourceKind = "artifact"
	SourceTurn     SourceKind = "turn"
	SourceToolCall SourceKind = "tool_call"
)

// SelectorType is the member type of a selector. Only text_position stands in
// the standard's examples; the others name the forms that the members of Agent
// Evidence's selector allow.
type SelectorType string

// Values of [SelectorType].
const (
	SelectTextPosition SelectorType = "text_position" // start, end: characters from 0
	SelectTextQuote    SelectorType = "text_quote"    // exact, prefix, suffix
	SelectJSONPointer  SelectorType = "json_pointer"  // json_pointer
	SelectLineRange    SelectorType = "line_range"    // line_start, line_end: from 1
	SelectTimestamp    SelectorType = "timestamp"     // timestamp
	SelectFragment     SelectorType = "fragment"      // fragment
)

// PartKind says what a part of an item's content is (seed 003).
type PartKind string

// Values of [PartKind].
const (
	PartText  PartKind = "text"
	PartImage PartKind = "image"
	PartFile  PartKind = "file"
	PartAudio PartKind = "audio"
)

// LogMarker says what an entry of the item log holds beyond its type (seed 003).
type LogMarker string

// Values of [LogMarker].
const (
	MarkReasoningSummary LogMarker = "reasoning_summary" // a summary of the reasoning, not the reasoning itself
	MarkEncryptedContent LogMarker = "encrypted_content" // only the provider can read it
	MarkRefusal          LogMarker = "refusal"           // the model declined to answer
)
