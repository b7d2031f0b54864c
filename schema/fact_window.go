package schema

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Segment is one part of a window. The budget's estimator counts its tokens.
type Segment struct {
	Segment  string `json:"segment"`             // the part's name
	Role     string `json:"role,omitempty"`      // role of the message: system, user, assistant, tool
	Layer    string `json:"layer,omitempty"`     // layer of the window: system, user, tool_results, …
	Reserved *int64 `json:"reserved,omitempty"`  // tokens reserved for the part
	Actual   *int64 `json:"actual,omitempty"`    // tokens that the part uses
	ItemRefs []Ref  `json:"item_refs,omitempty"` // the items in it, in order
	Order    *int64 `json:"order,omitempty"`     // position in the window; 0 is first
}

// Truncation records one item that was shortened or taken out of the window.
type Truncation struct {
	ItemRef      Ref    `json:"item_ref"`                // the item
	Strategy     string `json:"strategy,omitempty"`      // how the item was shortened or taken out
	TokensBefore *int64 `json:"tokens_before,omitempty"` // tokens before the change
	TokensAfter  *int64 `json:"tokens_after,omitempty"`  // tokens after the change; 0 if the item is not in the window
	Reason       string `json:"reason,omitempty"`        // the reason, for people
}

// BudgetApplied records the window of one call: its limits and its content.
type BudgetApplied struct {
	Common
	BudgetID          string           `json:"budget_id" ctx:"required"`          // id of the record
	CallID            string           `json:"call_id,omitempty"`                 // the model call of the record
	Target            string           `json:"target" ctx:"required"`             // the target that receives it, such as model
	Model             string           `json:"model,omitempty"`                   // the provider's name of the model
	Estimator         string           `json:"estimator,omitempty"`               // the estimator that counted the tokens
	MaxTokens         *int64           `json:"max_tokens,omitempty"`              // limit of the window in tokens
	ReservedTokens    *int64           `json:"reserved_tokens,omitempty"`         // tokens kept free for the output
	EstimatedTokens   *int64           `json:"estimated_prompt_tokens,omitempty"` // tokens of the prompt before the budget was applied
	MaxBytes          *int64           `json:"max_bytes,omitempty"`               // limit of the window in bytes
	MaxItems          *int64           `json:"max_items,omitempty"`               // limit of the window in items
	ActualTokens      *int64           `json:"actual_tokens,omitempty"`           // tokens put into the window
	ActualBytes       *int64           `json:"actual_bytes,omitempty"`            // bytes put into the window
	ActualItems       *int64           `json:"actual_items,omitempty"`            // items put into the window
	OverflowStrategy  OverflowStrategy `json:"overflow_strategy,omitempty"`       // how items that did not fit were handled
	WindowSegments    []Segment        `json:"window_segments,omitempty"`         // the parts of the window, in order
	TruncationRecords []Truncation     `json:"truncation_records,omitempty"`      // items that were shortened or taken out to fit
	PressurePolicy    *PressureRules   `json:"pressure_policy,omitempty"`         // the rules that made the window fit
}

func (*BudgetApplied) EventType() Type    { return TypeBudgetApplied }
func (f *BudgetApplied) RecordID() string { return f.BudgetID }

// PressureRules are the rules by which windows are made to fit (seed 000). An absent rule is the
// runtime's default, or unknown.
type PressureRules struct {
	Name              string   `json:"name,omitempty"`                      // name of the policy
	Steps             []string `json:"steps,omitempty"`                     // rungs of the ladder, in the order in which they run
	HighWater         *int64   `json:"high_water_percent,omitempty"`        // percentage of the limit above which the ladder runs
	TriggerTokens     *int64   `json:"trigger_tokens,omitempty"`            // tokens above which the ladder runs
	TrimKeepFirst     *int64   `json:"trim_keep_first_items,omitempty"`     // oldest messages that trimming leaves
	TrimKeepLast      *int64   `json:"trim_keep_last_items,omitempty"`      // newest messages that trimming leaves
	TrimStartOn       string   `json:"trim_start_on,omitempty"`             // role with which a trimmed conversation begins
	SummarizeKeepLast *int64   `json:"summarize_keep_last_items,omitempty"` // newest messages that are not summarised
	CompactKeepLast   *int64   `json:"compact_keep_last_items,omitempty"`   // newest tool results that stay whole
	CompactStubTokens *int64   `json:"compact_stub_tokens,omitempty"`       // tokens of the stub for a tool result
}

// PressureApplied records one rung of the ladder of seed 000. PressureApplied also records a
// skipped rung, and a rung that saved too few tokens.
type PressureApplied struct {
	Common
	PressureID   string          `json:"pressure_id" ctx:"required"` // id of the record
	CallID       string          `json:"call_id,omitempty"`          // the model call of the record
	Step         *int64          `json:"step" ctx:"required"`        // number of the rung, 1 to 5
	Name         string          `json:"name" ctx:"required"`        // name of the rung
	Policy       string          `json:"policy,omitempty"`           // the policy that decided
	Model        string          `json:"model,omitempty"`            // the provider's name of the model
	Outcome      PressureOutcome `json:"outcome" ctx:"required"`     // result of the rung
	TokensBefore *int64          `json:"tokens_before,omitempty"`    // tokens before the change
	TokensAfter  *int64          `json:"tokens_after,omitempty"`     // tokens after the change
	LimitTokens  *int64          `json:"limit_tokens,omitempty"`     // tokens that the prompt may use
	ItemRefs     []Ref           `json:"item_refs,omitempty"`        // items that the rung touched
	SummaryRef   Ref             `json:"summary_ref,omitzero"`       // the summary that replaces the items
	Reason       string          `json:"reason,omitempty"`           // the reason, for people
}

func (*PressureApplied) EventType() Type    { return TypePressureApplied }
func (f *PressureApplied) RecordID() string { return f.PressureID }

// LayerUsage is one contributor's share of a window (seed 003).
type LayerUsage struct {
	Layer      string `json:"layer"`                        // layer of the window: system, user, tool_results, …
	Tokens     *int64 `json:"tokens,omitempty"`             // tokens by the call's estimator
	Items      *int64 `json:"items,omitempty"`              // items of the layer
	Placement  string `json:"placement,omitempty"`          // place of the layer in the window
	Changed    *bool  `json:"changed,omitempty"`            // whether the layer changed since the last call of the lineage
	Reported   *int64 `json:"reported_tokens,omitempty"`    // tokens that the layer itself reports
	ReportedBy string `json:"reported_estimator,omitempty"` // the estimator that counted the reported tokens
}

// ProviderUsage is the provider's bill for one call, in tokens, each token in exactly one bucket.
// The provider's window is the sum of the input buckets: UncachedInput, CacheRead and the three
// cache writes. If a provider counts cached input inside input, or reasoning inside output, the
// producer subtracts it.
type ProviderUsage struct {
	UncachedInput *int64 `json:"uncached_input_tokens,omitempty"` // input tokens that were not in the cache
	CacheRead     *int64 `json:"cache_read_tokens,omitempty"`     // input tokens read from the cache
	CacheWrite5m  *int64 `json:"cache_write_5m_tokens,omitempty"` // input tokens written to the five-minute cache
	CacheWrite1h  *int64 `json:"cache_write_1h_tokens,omitempty"` // input tokens written to the one-hour cache
	CacheWrite    *int64 `json:"cache_write_tokens,omitempty"`    // input tokens written to a cache of unreported lifetime
	Output        *int64 `json:"output_tokens,omitempty"`         // output tokens without reasoning
	Reasoning     *int64 `json:"reasoning_tokens,omitempty"`      // reasoning tokens
}

// Window returns the input tokens billed. Window returns false if the provider reported no input
// bucket.
func (u ProviderUsage) Window() (tokens int64, known bool) {
	for _, bucket := range []*int64{u.UncachedInput, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.CacheWrite} {
		if bucket != nil {
			tokens, known = tokens+*bucket, true
		}
	}
	return tokens, known
}

// MaxAssemblyChain is the largest number of assemblies that one window needs: a whole one, and those
// that build on it. Readers report longer chains as partial.
const MaxAssemblyChain = 64

// Known holds the members that say how a record of a model call is known, and how much of the call
// the record covers. Empty members are unknown.
type Known struct {
	Fidelity        Fidelity `json:"fidelity,omitempty"`                                // how the record is known
	Coverage        Coverage `json:"coverage,omitempty"`                                // whether the record has everything that the model received
	CoverageReasons []string `json:"coverage_reasons,omitempty" words:"CoverageReason"` // why the coverage is partial
}

func (k *Known) known() *Known { return k }

// UsageRecorded records one model call: the estimated tokens of each layer of its window, and the
// tokens that the provider billed. The two are never mixed.
type UsageRecorded struct {
	Common
	Known
	CallID        string         `json:"call_id" ctx:"required"`   // id of the record: the model call
	Model         string         `json:"model,omitempty"`          // the provider's name of the model
	Estimator     string         `json:"estimator,omitempty"`      // the estimator that counted the tokens
	Layers        []LayerUsage   `json:"layers,omitempty"`         // the layers of the window, each with its tokens
	SystemTokens  *int64         `json:"system_tokens,omitempty"`  // estimated tokens of the system prompt
	ToolsTokens   *int64         `json:"tools_tokens,omitempty"`   // estimated tokens of the tool definitions
	HistoryTokens *int64         `json:"history_tokens,omitempty"` // estimated tokens of the conversation
	TotalTokens   *int64         `json:"total_tokens,omitempty"`   // estimated tokens of the window
	Usage         ProviderUsage  `json:"usage,omitzero"`           // tokens that the provider billed, each in one bucket
	ProviderUsage map[string]any `json:"provider_usage,omitempty"` // the provider's own numbers, as sent
	// The window was built from the item log's entries from WindowFirst up to, not including,
	// WindowNext.
	WindowFirst          *int64   `json:"window_first_position,omitempty"`
	WindowNext           *int64   `json:"window_next_position,omitempty"`   // end position in the item log, not included
	LineageID            string   `json:"lineage_id,omitempty"`             // id of the calls that share a prompt cache
	AssemblyID           string   `json:"assembly_id,omitempty"`            // the assembly of blocks
	SystemDigest         string   `json:"system_digest,omitempty"`          // keyed digest of the system prompt
	ToolsDigest          string   `json:"tools_digest,omitempty"`           // keyed digest of the tool definitions
	GapSeconds           *float64 `json:"gap_seconds,omitempty"`            // seconds since the last call of the lineage
	CacheLifetimeSeconds *int64   `json:"cache_lifetime_seconds,omitempty"` // lifetime of the prompt cache in seconds
	Cost                 *float64 `json:"cost,omitempty"`                   // cost of the call, in currency
	Currency             string   `json:"currency,omitempty"`               // ISO 4217 code
	PriceRef             Ref      `json:"price_ref,omitzero"`               // the price list of the cost
	StopReason           string   `json:"stop_reason,omitempty"`            // the provider's word for the stop reason
	AnsweredModel        string   `json:"answered_model,omitempty"`         // the model that answered, as the provider named it
	Tags                 []string `json:"tags,omitempty"`                   // the call's own tags
	ProviderMessageID    string   `json:"provider_message_id,omitempty"`    // the provider's id of the answer; the same in all tellings of the call
}

func (*UsageRecorded) EventType() Type    { return TypeUsageRecorded }
func (f *UsageRecorded) RecordID() string { return f.CallID }

// Candidate is an item as a selection saw it. An omitted candidate has a Reason. A selected
// candidate may have a Reason. A bare item id, which the standard also allows, reads as a
// Candidate with only ItemRef.
type Candidate struct {
	ItemRef Ref                `json:"item_ref"`          // the item
	Rank    *int64             `json:"rank,omitempty"`    // rank of the item; 1 is best
	Score   *float64           `json:"score,omitempty"`   // score of the item; higher is better
	Signals map[string]float64 `json:"signals,omitempty"` // parts of the score, by name
	Tokens  *int64             `json:"tokens,omitempty"`  // tokens by the call's estimator
	Reason  OmissionReason     `json:"reason,omitempty"`  // why the item was left out; required for omitted items
	Note    string             `json:"note,omitempty"`    // note for people
}

// UnmarshalJSONFrom reads the object form, or a bare item id.
func (c *Candidate) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return c.ItemRef.UnmarshalJSONFrom(dec)
	}
	type plain Candidate
	return json.UnmarshalDecode(dec, (*plain)(c))
}

func (c *Candidate) fromText(text string) error {
	c.ItemRef = Ref(text)
	return c.ItemRef.checkText()
}

// Selection holds the members that both selection facts share.
type Selection struct {
	SelectionID string `json:"selection_id" ctx:"required"` // id of the record; the same for all parts
	SurfaceID   string `json:"surface_id" ctx:"required"`   // the surface of the candidates
	CallID      string `json:"call_id,omitempty"`           // the model call of the record
	Query       string `json:"query,omitempty"`             // text of the query
	Intent      string `json:"intent,omitempty"`            // purpose of the query
	ActorRef    Ref    `json:"actor_ref,omitzero"`          // the actor that decided
	ModelRef    Ref    `json:"model_ref,omitzero"`          // the model that decided, if one did
	// Candidates are all considered items, in the order of consideration.
	Candidates []Ref `json:"candidate_item_refs,omitempty"`
	// Part is the number of this part, from 1 to Parts, of a selection that is too large for one
	// event. Part and Parts are nil for a selection in one event.
	Part  *int64 `json:"part,omitempty"`
	Parts *int64 `json:"parts,omitempty"` // number of parts
}

func (s *Selection) RecordID() string { return s.SelectionID }

// SelectionStarted records the question and the candidates before the decision.
type SelectionStarted struct {
	Common
	Selection
}

// SelectionCompleted records the decision. Candidates = Selected + Omitted. Each omission has a
// reason; see boundary rule 4.
type SelectionCompleted struct {
	Common
	Selection
	Selected  []Candidate `json:"selected_item_refs,omitempty"` // items that were chosen
	Omitted   []Candidate `json:"omitted_item_refs,omitempty"`  // items that were left out, each with a reason
	Policy    Ref         `json:"selection_policy,omitzero"`    // the policy that decided
	BudgetRef Ref         `json:"budget_ref,omitzero"`          // the budget in force
	Rationale string      `json:"rationale,omitempty"`          // the reason, for people
}

func (*SelectionStarted) EventType() Type   { return TypeSelectionStarted }
func (*SelectionCompleted) EventType() Type { return TypeSelectionCompleted }

// Block is one ordered part of an assembly.
type Block struct {
	Block          string         `json:"block"`                                   // the block's name or id
	ItemRefs       []Ref          `json:"item_refs,omitempty"`                     // the items in it, in order
	Position       *int64         `json:"position,omitempty"`                      // position of the block; 0 is first
	Layer          string         `json:"layer,omitempty"`                         // layer of the window: system, user, tool_results, …
	Role           string         `json:"role,omitempty"`                          // role of the message: system, user, assistant, tool
	Wrapper        string         `json:"wrapper,omitempty"`                       // the wrapper around the items
	Visibility     []string       `json:"visibility,omitempty" words:"Visibility"` // the targets that may see it
	Tokens         *int64         `json:"tokens,omitempty"`                        // tokens by the call's estimator
	Digest         string         `json:"digest,omitempty"`                        // keyed digest of the content
	EqualityDigest string         `json:"equality_digest,omitempty"`               // digest of the block's canonical bytes under the tenant's equality key
	RedactionState RedactionState `json:"redaction_state,omitempty"`               // how much of the content is withheld
	Content        string         `json:"content,omitempty"`                       // the text, if the producer chose to send it inline
}

// AssemblyCreated records the ordered blocks for one target. [InjectionApplied] records that the
// blocks became visible. A whole assembly has all blocks of its window. An assembly with a base has
// the blocks after the first Keep blocks of the base. Positions of blocks count from the begin of the
// window. A chain of bases ends at a whole assembly after
// at most [MaxAssemblyChain] assemblies.
type AssemblyCreated struct {
	Common
	Known
	AssemblyID      string         `json:"assembly_id" ctx:"required"`              // id of the record
	CallID          string         `json:"call_id,omitempty"`                       // the model call of the record
	Target          string         `json:"target" ctx:"required"`                   // the target that receives it, such as model
	OrderedBlocks   []Block        `json:"ordered_blocks" ctx:"required"`           // blocks in the order of the window; with a base, those after the kept ones
	BaseAssemblyID  string         `json:"base_assembly_id,omitempty"`              // the assembly whose first blocks begin this window
	Keep            *int64         `json:"keep,omitempty"`                          // number of blocks of the base that begin this window
	WrappingPolicy  Ref            `json:"wrapping_policy,omitzero"`                // how items are wrapped
	SeparatorPolicy Ref            `json:"separator_policy,omitzero"`               // how blocks are separated
	Visibility      []string       `json:"visibility,omitempty" words:"Visibility"` // the targets that may see it
	BudgetRef       Ref            `json:"budget_ref,omitzero"`                     // the budget in force
	SourceItemRefs  []Ref          `json:"source_item_refs,omitempty"`              // items of the assembly
	RedactionState  RedactionState `json:"redaction_state,omitempty"`               // how much of the content is withheld
}

func (*AssemblyCreated) EventType() Type    { return TypeAssemblyCreated }
func (f *AssemblyCreated) RecordID() string { return f.AssemblyID }

// Injection holds the members that both injection facts share.
type Injection struct {
	InjectionID    string         `json:"injection_id" ctx:"required"` // id of the record
	CallID         string         `json:"call_id,omitempty"`           // the model call of the record
	AssemblyID     string         `json:"assembly_id,omitempty"`       // the assembly of blocks
	Target         string         `json:"target,omitempty"`            // the target that receives it, such as model
	InjectionPoint InjectionPoint `json:"injection_point,omitempty"`   // place of the context in the request
	InjectionKind  string         `json:"injection_kind,omitempty"`    // kind of the injection: window, head, persona, reminder, memory, tool_visible, …
	ItemRefs       []Ref          `json:"item_refs,omitempty"`         // the items in it, in order
	AttachedTo     Ref            `json:"attached_to,omitzero"`        // the message or item that the context is attached to
	Ephemeral      bool           `json:"ephemeral,omitzero"`          // whether the context is removed after the call
	BindingID      string         `json:"binding_id,omitempty"`        // the run's resource binding whose provider supplied this context
	PersonaFrom    string         `json:"persona_from,omitempty"`      // the persona before
	PersonaTo      string         `json:"persona_to,omitempty"`        // the persona after
	CueItemRef     Ref            `json:"cue_item_ref,omitzero"`       // the item that caused the change of persona
	Tokens         *int64         `json:"tokens,omitempty"`            // tokens by the call's estimator
	Digest         string         `json:"digest,omitempty"`            // keyed digest of the content
	RedactionState RedactionState `json:"redaction_state,omitempty"`   // how much of the content is withheld
	Content        string         `json:"content,omitempty"`           // the text, if the producer chose to send it inline
}

func (i *Injection) RecordID() string { return i.InjectionID }

// InjectionApplied records that context became visible to a target.
type InjectionApplied struct {
	Common
	Injection
}

// InjectionRemoved records that injected context was removed.
type InjectionRemoved struct {
	Common
	Injection
	ReplacedBy    Ref    `json:"replaced_by,omitzero"`      // the replacement for the removed context
	RemovedByPass string `json:"removed_by_pass,omitempty"` // the elision pass that removed the context
}

func (*InjectionApplied) EventType() Type { return TypeInjectionApplied }
func (*InjectionRemoved) EventType() Type { return TypeInjectionRemoved }
