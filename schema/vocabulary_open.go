package schema

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
