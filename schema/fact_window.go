package schema

// Segment is one part of a window. Tokens are counted by the estimator that
// the budget names.
type Segment struct {
	Segment  string `json:"segment"`
	Role     string `json:"role,omitempty"`
	Layer    string `json:"layer,omitempty"`
	Reserved *int64 `json:"reserved,omitempty"` // tokens
	Actual   *int64 `json:"actual,omitempty"`   // tokens
	ItemRefs []Ref  `json:"item_refs,omitempty"`
	Order    *int64 `json:"order,omitempty"` // 0 is first in the window
}

// Truncation records one item that was shortened to fit.
type Truncation struct {
	ItemRef      Ref    `json:"item_ref"`
	Strategy     string `json:"strategy,omitempty"`
	TokensBefore *int64 `json:"tokens_before,omitempty"`
	TokensAfter  *int64 `json:"tokens_after,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// BudgetApplied records the window of one call: its limits and what was put
// into it.
type BudgetApplied struct {
	Common
	BudgetID          string           `json:"budget_id" ctx:"required"`
	CallID            string           `json:"call_id,omitempty"`
	Target            string           `json:"target" ctx:"required"`
	Model             string           `json:"model,omitempty"`
	Estimator         string           `json:"estimator,omitempty"`
	MaxTokens         *int64           `json:"max_tokens,omitempty"`
	ReservedTokens    *int64           `json:"reserved_tokens,omitempty"` // kept free for the output
	EstimatedTokens   *int64           `json:"estimated_prompt_tokens,omitempty"`
	MaxBytes          *int64           `json:"max_bytes,omitempty"`
	MaxItems          *int64           `json:"max_items,omitempty"`
	ActualTokens      *int64           `json:"actual_tokens,omitempty"`
	ActualBytes       *int64           `json:"actual_bytes,omitempty"`
	ActualItems       *int64           `json:"actual_items,omitempty"`
	OverflowStrategy  OverflowStrategy `json:"overflow_strategy,omitempty"`
	WindowSegments    []Segment        `json:"window_segments,omitempty"`
	TruncationRecords []Truncation     `json:"truncation_records,omitempty"`
}

func (*BudgetApplied) EventType() Type    { return TypeBudgetApplied }
func (f *BudgetApplied) RecordID() string { return f.BudgetID }

// PressureApplied records one rung of the ladder of seed 000, also when it
// was skipped or was not enough.
type PressureApplied struct {
	Common
	PressureID   string          `json:"pressure_id" ctx:"required"`
	CallID       string          `json:"call_id,omitempty"`
	Step         *int64          `json:"step" ctx:"required"` // 1 to 5
	Name         string          `json:"name" ctx:"required"`
	Policy       string          `json:"policy,omitempty"`
	Model        string          `json:"model,omitempty"`
	Outcome      PressureOutcome `json:"outcome" ctx:"required"`
	TokensBefore *int64          `json:"tokens_before,omitempty"`
	TokensAfter  *int64          `json:"tokens_after,omitempty"`
	LimitTokens  *int64          `json:"limit_tokens,omitempty"` // what the prompt may use
	ItemRefs     []Ref           `json:"item_refs,omitempty"`
	Reason       string          `json:"reason,omitempty"`
}

func (*PressureApplied) EventType() Type    { return TypePressureApplied }
func (f *PressureApplied) RecordID() string { return f.PressureID }

// LayerUsage is one contributor's share of a window (seed 003).
type LayerUsage struct {
	Layer     string `json:"layer"`
	Tokens    *int64 `json:"tokens,omitempty"`
	Items     *int64 `json:"items,omitempty"`
	Placement string `json:"placement,omitempty"`
	Changed   *bool  `json:"changed,omitempty"` // since the last call of the lineage
}

// ProviderUsage is what the provider billed for one call, in tokens, each
// token in exactly one bucket. The window that the provider saw is the sum of
// the input buckets: UncachedInput, CacheRead and the three cache writes.
// Where a provider counts cached input inside input, or reasoning inside
// output, the producer takes it out.
type ProviderUsage struct {
	UncachedInput *int64 `json:"uncached_input_tokens,omitempty"`
	CacheRead     *int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite5m  *int64 `json:"cache_write_5m_tokens,omitempty"`
	CacheWrite1h  *int64 `json:"cache_write_1h_tokens,omitempty"`
	CacheWrite    *int64 `json:"cache_write_tokens,omitempty"` // of a lifetime that was not reported
	Output        *int64 `json:"output_tokens,omitempty"`
	Reasoning     *int64 `json:"reasoning_tokens,omitempty"`
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
	CallID        string         `json:"call_id" ctx:"required"`
	Model         string         `json:"model,omitempty"`
	Estimator     string         `json:"estimator,omitempty"`
	Layers        []LayerUsage   `json:"layers,omitempty"`
	SystemTokens  *int64         `json:"system_tokens,omitempty"`
	ToolsTokens   *int64         `json:"tools_tokens,omitempty"`
	HistoryTokens *int64         `json:"history_tokens,omitempty"`
	TotalTokens   *int64         `json:"total_tokens,omitempty"`
	Usage         ProviderUsage  `json:"usage,omitzero"`
	ProviderUsage map[string]any `json:"provider_usage,omitempty"` // the provider's own numbers, as sent
	// The window was projected from the entries of the item log at positions
	// from WindowFirst up to, not including, WindowNext.
	WindowFirst          *int64   `json:"window_first_position,omitempty"`
	WindowNext           *int64   `json:"window_next_position,omitempty"`
	LineageID            string   `json:"lineage_id,omitempty"` // calls that share a prompt cache
	AssemblyID           string   `json:"assembly_id,omitempty"`
	SystemDigest         string   `json:"system_digest,omitempty"`
	ToolsDigest          string   `json:"tools_digest,omitempty"`
	GapSeconds           *float64 `json:"gap_seconds,omitempty"` // since the last call of the lineage
	CacheLifetimeSeconds *int64   `json:"cache_lifetime_seconds,omitempty"`
	Cost                 *float64 `json:"cost,omitempty"`
	Currency             string   `json:"currency,omitempty"`
	PriceRef             Ref      `json:"price_ref,omitzero"`
	StopReason           string   `json:"stop_reason,omitempty"`
}

func (*UsageRecorded) EventType() Type    { return TypeUsageRecorded }
func (f *UsageRecorded) RecordID() string { return f.CallID }
