package schema

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Segment is one part of a window. Tokens are counted by the estimator that
// the budget names.
type Segment struct {
	Segment  string `json:"segment"`             // the part's name
	Role     string `json:"role,omitempty"`      // of the message: system, user, assistant, tool
	Layer    string `json:"layer,omitempty"`     // what fills the window: system, user, tool_results, …
	Reserved *int64 `json:"reserved,omitempty"`  // tokens
	Actual   *int64 `json:"actual,omitempty"`    // tokens
	ItemRefs []Ref  `json:"item_refs,omitempty"` // items that it holds, in order
	Order    *int64 `json:"order,omitempty"`     // 0 is first in the window
}

// Truncation records one item that was shortened or taken out to fit.
type Truncation struct {
	ItemRef      Ref    `json:"item_ref"`                // the item
	Strategy     string `json:"strategy,omitempty"`      // how it was shortened or taken out
	TokensBefore *int64 `json:"tokens_before,omitempty"` // tokens before
	TokensAfter  *int64 `json:"tokens_after,omitempty"`  // tokens left; 0 where it is not in the window
	Reason       string `json:"reason,omitempty"`        // why, for people
}

// BudgetApplied records the window of one call: its limits and what was put
// into it.
type BudgetApplied struct {
	Common
	BudgetID          string           `json:"budget_id" ctx:"required"`          // id of the record
	CallID            string           `json:"call_id,omitempty"`                 // the model call that it belongs to
	Target            string           `json:"target" ctx:"required"`             // who is to see it, such as model
	Model             string           `json:"model,omitempty"`                   // the provider's name of the model
	Estimator         string           `json:"estimator,omitempty"`               // what counted the tokens
	MaxTokens         *int64           `json:"max_tokens,omitempty"`              // tokens of the window
	ReservedTokens    *int64           `json:"reserved_tokens,omitempty"`         // kept free for the output
	EstimatedTokens   *int64           `json:"estimated_prompt_tokens,omitempty"` // tokens of the prompt before the budget was applied
	MaxBytes          *int64           `json:"max_bytes,omitempty"`               // bytes of the window
	MaxItems          *int64           `json:"max_items,omitempty"`               // items of the window
	ActualTokens      *int64           `json:"actual_tokens,omitempty"`           // tokens put into the window
	ActualBytes       *int64           `json:"actual_bytes,omitempty"`            // bytes put into the window
	ActualItems       *int64           `json:"actual_items,omitempty"`            // items put into the window
	OverflowStrategy  OverflowStrategy `json:"overflow_strategy,omitempty"`       // what was done with what did not fit
	WindowSegments    []Segment        `json:"window_segments,omitempty"`         // the parts of the window, in order
	TruncationRecords []Truncation     `json:"truncation_records,omitempty"`      // items that were shortened or taken out to fit
	PressurePolicy    *PressureRules   `json:"pressure_policy,omitempty"`         // the rules that made the window fit
}

func (*BudgetApplied) EventType() Type    { return TypeBudgetApplied }
func (f *BudgetApplied) RecordID() string { return f.BudgetID }

// PressureRules are the rules by which windows are made to fit (seed 000). What is
// absent is the runtime's default, or unknown.
type PressureRules struct {
	Name              string   `json:"name,omitempty"`                      // of the policy
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

// PressureApplied records one rung of the ladder of seed 000, also when it
// was skipped or was not enough.
type PressureApplied struct {
	Common
	PressureID   string          `json:"pressure_id" ctx:"required"` // id of the record
	CallID       string          `json:"call_id,omitempty"`          // the model call that it belongs to
	Step         *int64          `json:"step" ctx:"required"`        // 1 to 5
	Name         string          `json:"name" ctx:"required"`        // of the rung
	Policy       string          `json:"policy,omitempty"`           // the policy that decided
	Model        string          `json:"model,omitempty"`            // the provider's name of the model
	Outcome      PressureOutcome `json:"outcome" ctx:"required"`     // what the rung did
	TokensBefore *int64          `json:"tokens_before,omitempty"`    // tokens before
	TokensAfter  *int64          `json:"tokens_after,omitempty"`     // tokens left
	LimitTokens  *int64          `json:"limit_tokens,omitempty"`     // what the prompt may use
	ItemRefs     []Ref           `json:"item_refs,omitempty"`        // items that the rung touched
	SummaryRef   Ref             `json:"summary_ref,omitzero"`       // the summary that stands for them
	Reason       string          `json:"reason,omitempty"`           // why, for people
}

func (*PressureApplied) EventType() Type    { return TypePressureApplied }
func (f *PressureApplied) RecordID() string { return f.PressureID }

// LayerUsage is one contributor's share of a window (seed 003).
type LayerUsage struct {
	Layer      string `json:"layer"`                        // what fills the window: system, user, tool_results, …
	Tokens     *int64 `json:"tokens,omitempty"`             // by the estimator of the call
	Items      *int64 `json:"items,omitempty"`              // items of the layer
	Placement  string `json:"placement,omitempty"`          // where the layer stands
	Changed    *bool  `json:"changed,omitempty"`            // since the last call of the lineage
	Reported   *int64 `json:"reported_tokens,omitempty"`    // as the layer itself reports it
	ReportedBy string `json:"reported_estimator,omitempty"` // what counted the reported tokens
}

// ProviderUsage is what the provider billed for one call, in tokens, each
// token in exactly one bucket. The window that the provider saw is the sum of
// the input buckets: UncachedInput, CacheRead and the three cache writes.
// Where a provider counts cached input inside input, or reasoning inside
// output, the producer takes it out.
type ProviderUsage struct {
	UncachedInput *int64 `json:"uncached_input_tokens,omitempty"` // input tokens that no cache had
	CacheRead     *int64 `json:"cache_read_tokens,omitempty"`     // input tokens read from the cache
	CacheWrite5m  *int64 `json:"cache_write_5m_tokens,omitempty"` // input tokens written to the five-minute cache
	CacheWrite1h  *int64 `json:"cache_write_1h_tokens,omitempty"` // input tokens written to the one-hour cache
	CacheWrite    *int64 `json:"cache_write_tokens,omitempty"`    // of a lifetime that was not reported
	Output        *int64 `json:"output_tokens,omitempty"`         // tokens written, without reasoning
	Reasoning     *int64 `json:"reasoning_tokens,omitempty"`      // tokens reasoned
}

// Window returns the input tokens billed, and false when the provider
// reported no input bucket at all.
func (u ProviderUsage) Window() (tokens int64, known bool) {
	for _, bucket := range []*int64{u.UncachedInput, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.CacheWrite} {
		if bucket != nil {
			tokens, known = tokens+*bucket, true
		}
	}
	return tokens, known
}

// UsageRecorded records one model call: how its window decomposed by layer as
// we estimate it, and what the provider billed. The two are never mixed.
type UsageRecorded struct {
	Common
	CallID        string         `json:"call_id" ctx:"required"`   // id of the record: the model call
	Model         string         `json:"model,omitempty"`          // the provider's name of the model
	Estimator     string         `json:"estimator,omitempty"`      // what counted the tokens
	Layers        []LayerUsage   `json:"layers,omitempty"`         // what each layer adds to the window
	SystemTokens  *int64         `json:"system_tokens,omitempty"`  // estimated tokens of the system prompt
	ToolsTokens   *int64         `json:"tools_tokens,omitempty"`   // estimated tokens of the tool definitions
	HistoryTokens *int64         `json:"history_tokens,omitempty"` // estimated tokens of the conversation
	TotalTokens   *int64         `json:"total_tokens,omitempty"`   // estimated tokens of the window
	Usage         ProviderUsage  `json:"usage,omitzero"`           // what the provider billed, each token in one bucket
	ProviderUsage map[string]any `json:"provider_usage,omitempty"` // the provider's own numbers, as sent
	// The window was projected from the entries of the item log at positions
	// from WindowFirst up to, not including, WindowNext.
	WindowFirst          *int64   `json:"window_first_position,omitempty"`
	WindowNext           *int64   `json:"window_next_position,omitempty"`   // of the item log, not included
	LineageID            string   `json:"lineage_id,omitempty"`             // calls that share a prompt cache
	AssemblyID           string   `json:"assembly_id,omitempty"`            // the assembly of blocks
	SystemDigest         string   `json:"system_digest,omitempty"`          // keyed digest of the system prompt
	ToolsDigest          string   `json:"tools_digest,omitempty"`           // keyed digest of the tool definitions
	GapSeconds           *float64 `json:"gap_seconds,omitempty"`            // since the last call of the lineage
	CacheLifetimeSeconds *int64   `json:"cache_lifetime_seconds,omitempty"` // seconds that the prompt cache lives
	Cost                 *float64 `json:"cost,omitempty"`                   // of the call, in currency
	Currency             string   `json:"currency,omitempty"`               // ISO 4217 code
	PriceRef             Ref      `json:"price_ref,omitzero"`               // the price list that the cost is by
	StopReason           string   `json:"stop_reason,omitempty"`            // the provider's word for why it stopped
	AnsweredModel        string   `json:"answered_model,omitempty"`         // the model that answered, as the provider named it
	Tags                 []string `json:"tags,omitempty"`                   // tags of the call's own
}

func (*UsageRecorded) EventType() Type    { return TypeUsageRecorded }
func (f *UsageRecorded) RecordID() string { return f.CallID }

// Candidate is an item as a selection saw it. An omitted candidate carries
// the Reason; a selected one may. The standard also allows a bare item id,
// which reads as a Candidate with nothing but ItemRef.
type Candidate struct {
	ItemRef Ref                `json:"item_ref"`          // the item
	Rank    *int64             `json:"rank,omitempty"`    // 1 is best
	Score   *float64           `json:"score,omitempty"`   // higher is better
	Signals map[string]float64 `json:"signals,omitempty"` // parts of the score, by name
	Tokens  *int64             `json:"tokens,omitempty"`  // by the estimator of the call
	Reason  OmissionReason     `json:"reason,omitempty"`  // why it was left out; required of an omission
	Note    string             `json:"note,omitempty"`    // for people
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

// Selection is what both selection facts share.
type Selection struct {
	SelectionID string `json:"selection_id" ctx:"required"` // id of the record; the same for all parts
	SurfaceID   string `json:"surface_id" ctx:"required"`   // the surface that was chosen from
	CallID      string `json:"call_id,omitempty"`           // the model call that it belongs to
	Query       string `json:"query,omitempty"`             // what was looked for
	Intent      string `json:"intent,omitempty"`            // what the query is for
	ActorRef    Ref    `json:"actor_ref,omitzero"`          // who decided
	ModelRef    Ref    `json:"model_ref,omitzero"`          // the model that decided, if one did
	// Candidates are all that were considered, in the order considered.
	Candidates []Ref `json:"candidate_item_refs,omitempty"`
	// Part numbers the pieces of a selection that one event cannot hold, from 1
	// to Parts; both are nil when it can.
	Part  *int64 `json:"part,omitempty"`
	Parts *int64 `json:"parts,omitempty"` // how many there are
}

func (s *Selection) RecordID() string { return s.SelectionID }

// SelectionStarted records what is about to be decided.
type SelectionStarted struct {
	Common
	Selection
}

// SelectionCompleted records the decision. Candidates = Selected + Omitted,
// each omission with a reason; see boundary rule 4.
type SelectionCompleted struct {
	Common
	Selection
	Selected  []Candidate `json:"selected_item_refs,omitempty"` // what was chosen
	Omitted   []Candidate `json:"omitted_item_refs,omitempty"`  // what was left out, each with a reason
	Policy    Ref         `json:"selection_policy,omitzero"`    // the policy that decided
	BudgetRef Ref         `json:"budget_ref,omitzero"`          // the budget in force
	Rationale string      `json:"rationale,omitempty"`          // why, for people
}

func (*SelectionStarted) EventType() Type   { return TypeSelectionStarted }
func (*SelectionCompleted) EventType() Type { return TypeSelectionCompleted }
