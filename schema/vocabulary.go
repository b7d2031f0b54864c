package schema

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// These are the vocabularies of the Agent Context standard (seed 001). They are open: a newer
// producer may use other words, and the ledger keeps them. Only [Fidelity] and [Coverage] are closed.

// ContentMode is the way in which an item carries its content.
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

// OmissionReason is the reason for which a candidate was left out.
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

// OverflowStrategy is the action of a budget when the window does not fit.
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

// InjectionPoint is the place of injected context in a request.
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

// CompactionMethod is the method that made a summary.
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

// CompactionTrigger is the cause that started a compaction.
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

// RedactionState is the degree to which an item is withheld.
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

// Fidelity is the way in which a record of a model call is known. The vocabulary is closed, because
// readers order several tellings of one call by it.
type Fidelity string

// The values of [Fidelity], best first.
const (
	FidelityWire          Fidelity = "wire"          // the bytes that went to the provider
	FidelitySerialized    Fidelity = "serialized"    // the client's own record of its request
	FidelityStated        Fidelity = "stated"        // the runtime recorded its decision
	FidelityReported      Fidelity = "reported"      // messages as telemetry reports them
	FidelityReconstructed Fidelity = "reconstructed" // rebuilt from a log of messages
)

var fidelities = []Fidelity{FidelityWire, FidelitySerialized, FidelityStated, FidelityReported, FidelityReconstructed}

// Rank returns the place of f among the values, 0 for the best. Unknown words come last.
func (f Fidelity) Rank() int {
	if i := slices.Index(fidelities, f); i >= 0 {
		return i
	}
	return len(fidelities)
}

// Coverage says whether a record has everything that the model received. The vocabulary is closed.
type Coverage string

// The values of [Coverage].
const (
	CoverageComplete Coverage = "complete"
	CoveragePartial  Coverage = "partial"
)

// CoverageReason is a reason for which a record covers a call only partly. The vocabulary is open.
type CoverageReason string

// Values of [CoverageReason].
const (
	PartialSystem    CoverageReason = "system_unknown"      // the source does not hold the system prompt
	PartialTools     CoverageReason = "tools_unknown"       // the source does not hold the tool definitions
	PartialEntries   CoverageReason = "entries_missing"     // messages of the window are not in the source
	PartialSlice     CoverageReason = "slice_missing"       // a part of the session's log is missing
	PartialBase      CoverageReason = "base_missing"        // the base of the window is not in the ledger
	PartialChain     CoverageReason = "chain_too_long"      // more assemblies build on one another than readers follow
	PartialCall      CoverageReason = "call_missing"        // an earlier call of the window is not in the source
	PartialDigest    CoverageReason = "digest_mismatch"     // content differs from its recorded digest
	PartialOpaque    CoverageReason = "opaque_blocks"       // blocks of types that the producer cannot read
	PartialTruncated CoverageReason = "truncated"           // the source ends before the record does
	PartialPrevious  CoverageReason = "previous_unobserved" // the provider added earlier context that nobody observed
	PartialReturn    CoverageReason = "user_returned"       // a user returned to an earlier message, and the window lacks the entries between
)

// Severity is the severity of a gap.
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

// PressureOutcome is the result of a rung of the pressure ladder (seed 000).
type PressureOutcome string

// The values of [PressureOutcome].
const (
	OutcomeApplied      PressureOutcome = "applied"
	OutcomeSkipped      PressureOutcome = "skipped"
	OutcomeInsufficient PressureOutcome = "insufficient"
	OutcomeFailed       PressureOutcome = "failed"
)

// ElisionLevel is the degree to which an item is elided (seed 004).
type ElisionLevel string

// The values of [ElisionLevel].
const (
	ElideTrivial    ElisionLevel = "trivial"
	ElideSimple     ElisionLevel = "simple"
	ElideOffloaded  ElisionLevel = "offloaded"
	ElideSummarized ElisionLevel = "summarized"
	ElideHybrid     ElisionLevel = "hybrid"
)

// ResourceOutcome is the outcome of a declared resource (seed 002).
type ResourceOutcome string

// The values of [ResourceOutcome].
const (
	ResourceBound      ResourceOutcome = "resolved"
	ResourceUnresolved ResourceOutcome = "unresolved" // no provider supports its kind
)

// The words below are the known values of string fields. The field's tag `words` names the list.
// Scopes and visibility targets come from the Agent Context standard. The standard gives no list for
// kinds of items, surfaces, sources and selectors. Their words come from the standard's examples,
// from Agent Evidence's selectors and from ctxledger's producers.

// Scope is the kind of scope of a record or an envelope.
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

// Visibility is a target that may see a record.
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

// ContextKind is the kind of an item. The standard gives no closed list.
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

// SurfaceKind is the kind of a surface. The standard gives no closed list.
type SurfaceKind string

// Values of [SurfaceKind].
const (
	SurfaceWorkspace SurfaceKind = "workspace"
	SurfaceModelCall SurfaceKind = "model_call"
)

// SourceKind is the kind of a source. The standard gives no closed list.
type SourceKind string

// Values of [SourceKind].
const (
	SourceFile     SourceKind = "file"
	SourceArtifact SourceKind = "artifact"
	SourceTurn     SourceKind = "turn"
	SourceToolCall SourceKind = "tool_call"
)

// SelectorType is the member type of a selector. Only text_position is in the standard's
// examples. The other types are named after the members of Agent Evidence's selector.
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

// PartKind is the kind of a part of an item's content (seed 003).
type PartKind string

// Values of [PartKind].
const (
	PartText  PartKind = "text"
	PartImage PartKind = "image"
	PartFile  PartKind = "file"
	PartAudio PartKind = "audio"
)

// LogMarker is a property of an item log entry beyond its type (seed 003).
type LogMarker string

// Values of [LogMarker].
const (
	MarkReasoningSummary LogMarker = "reasoning_summary" // a summary of the reasoning, not the reasoning itself
	MarkEncryptedContent LogMarker = "encrypted_content" // only the provider can read it
	MarkRefusal          LogMarker = "refusal"           // the model declined to answer
)

// Words returns the words of the contract as they stand in messages, a line each: names of members
// and attributes, types, words of vocabularies, and the beginnings of subjects. Every event has some
// of them. A redaction of such a word would stop its tenant, and is refused. The caller must not
// change the bytes.
func Words() []byte { return contractWords() }

// HoldsWord reports whether a value to withhold stands in a word of the contract, or in several that
// follow one another in a message. Values of fewer bytes than a fingerprint has are never found.
func HoldsWord(value string) bool {
	return len(value) >= shortestFingerprinted && bytes.Contains(Words(), []byte(value))
}

// shortestFingerprinted is the smallest length of a value with a fingerprint, in bytes.
const shortestFingerprinted = 8

var contractWords = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	seen := make(map[string]bool)
	line := func(text string) {
		if !seen[text] {
			seen[text] = true
			b.WriteString(text + "\n")
		}
	}
	for _, t := range Types() {
		object, verb := t.ObjectVerb()
		line(t.CloudEventsType())
		line(t.DataSchema())
		line("." + object + "." + verb)
		line(`{"schema_version":"` + Version + `","event_type":"` + string(t) + `","`)
		var s wordSchema
		if json.Unmarshal(JSONSchema(t), &s) == nil {
			s.each(line)
		}
	}
	for _, a := range attributes {
		line(`","` + a.name + `":"`)
		line(a.header)
	}
	for _, word := range []string{subjectPrefix, MsgIDHeader, "application/json", "application/cloudevents+json", `":false,"`, `":null,"`, `":true,"`} {
		line(word)
	}
	return b.Bytes()
})

// wordSchema is the part of a JSON Schema that has words. Examples of a member are its vocabulary;
// examples of a type are events, and not read.
type wordSchema struct {
	Properties map[string]wordSchema `json:"properties"`
	Defs       map[string]wordSchema `json:"$defs"`
	Items      *wordSchema           `json:"items"`
	Words      []any                 `json:"examples"`
}

// each calls visit for each name and word, as they stand in JSON.
func (s wordSchema) each(visit func(string)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := s.Properties[name]
		visit(`,"` + name + `":{"`)
		visit(`,"` + name + `":[{"`)
		visit(`,"` + name + `":"`)
		for _, word := range member.Words {
			if text, ok := word.(string); ok && !strings.ContainsAny(text, " /") {
				visit(`:"` + text + `","`)
			}
		}
		member.each(visit)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		s.Defs[name].each(visit)
	}
	if s.Items != nil {
		s.Items.each(visit)
	}
}
