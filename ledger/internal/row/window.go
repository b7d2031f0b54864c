package row

import "github.com/ctxledger/ctxledger/schema"

// Window is a row of the table windows: a budget, a rung of the pressure
// ladder or a usage record. The segment arrays run over segments or layers,
// the truncated arrays over truncated items.
type Window struct {
	Head
	RecordKind          string   `ch:"record_kind"`
	RecordID            string   `ch:"record_id"`
	CallID              string   `ch:"call_id"`
	Model               string   `ch:"model"`
	Estimator           string   `ch:"estimator"`
	Target              string   `ch:"target"`
	MaxTokens           *int64   `ch:"max_tokens"`
	MaxBytes            *int64   `ch:"max_bytes"`
	MaxItems            *int64   `ch:"max_items"`
	ReservedTokens      *int64   `ch:"reserved_tokens"`
	EstimatedTokens     *int64   `ch:"estimated_tokens"`
	ActualTokens        *int64   `ch:"actual_tokens"`
	ActualBytes         *int64   `ch:"actual_bytes"`
	ActualItems         *int64   `ch:"actual_items"`
	OverflowStrategy    string   `ch:"overflow_strategy"`
	Step                *int64   `ch:"step"`
	StepName            string   `ch:"step_name"`
	Policy              string   `ch:"policy"`
	Outcome             string   `ch:"outcome"`
	TokensBefore        *int64   `ch:"tokens_before"`
	TokensAfter         *int64   `ch:"tokens_after"`
	LimitTokens         *int64   `ch:"limit_tokens"`
	ItemRefs            []string `ch:"item_refs"`
	Reason              string   `ch:"reason"`
	Segments            []string `ch:"segments"`
	SegmentRoles        []string `ch:"segment_roles"`
	SegmentLayers       []string `ch:"segment_layers"`
	SegmentTokens       []*int64 `ch:"segment_tokens"`
	SegmentItems        []*int64 `ch:"segment_items"`
	SegmentReserved     []*int64 `ch:"segment_reserved"`
	SegmentPlacements   []string `ch:"segment_placements"`
	SegmentChanged      []*bool  `ch:"segment_changed"`
	TruncatedRefs       []string `ch:"truncated_refs"`
	TruncatedBefore     []*int64 `ch:"truncated_before"`
	TruncatedAfter      []*int64 `ch:"truncated_after"`
	TruncatedStrategies []string `ch:"truncated_strategies"`
	SystemTokens        *int64   `ch:"system_tokens"`
	ToolsTokens         *int64   `ch:"tools_tokens"`
	HistoryTokens       *int64   `ch:"history_tokens"`
	TotalTokens         *int64   `ch:"total_tokens"`
	WindowFirst         *int64   `ch:"window_first"`
	WindowNext          *int64   `ch:"window_next"`
	Metadata            string   `ch:"metadata"`
	PressurePolicy      string   `ch:"pressure_policy"`
	SummaryRef          string   `ch:"summary_ref"`
	SegmentReported     []*int64 `ch:"segment_reported"`
	SegmentReportedBy   []string `ch:"segment_reported_by"`
}

// rules are the rules of a policy as JSON, empty if there are none.
func rules(p *schema.PressureRules) string {
	if p == nil {
		return ""
	}
	return JSONText(p)
}

func Budget(h Head, f *schema.BudgetApplied) Window {
	row := Window{
		Head: h, RecordKind: "budget", RecordID: f.BudgetID, CallID: f.CallID, Model: f.Model, Estimator: f.Estimator,
		Target: f.Target, MaxTokens: f.MaxTokens, MaxBytes: f.MaxBytes, MaxItems: f.MaxItems, ReservedTokens: f.ReservedTokens, EstimatedTokens: f.EstimatedTokens,
		ActualTokens: f.ActualTokens, ActualBytes: f.ActualBytes, ActualItems: f.ActualItems,
		OverflowStrategy: string(f.OverflowStrategy), PressurePolicy: rules(f.PressurePolicy), Metadata: JSONText(f.Metadata),
	}
	row.Segments = each(f.WindowSegments, func(s *schema.Segment) string { return s.Segment })
	row.SegmentRoles = each(f.WindowSegments, func(s *schema.Segment) string { return s.Role })
	row.SegmentLayers = each(f.WindowSegments, func(s *schema.Segment) string { return s.Layer })
	row.SegmentTokens = each(f.WindowSegments, func(s *schema.Segment) *int64 { return s.Actual })
	row.SegmentItems = each(f.WindowSegments, func(s *schema.Segment) *int64 { return new(int64(len(s.ItemRefs))) })
	row.SegmentReserved = each(f.WindowSegments, func(s *schema.Segment) *int64 { return s.Reserved })
	row.SegmentPlacements = make([]string, len(f.WindowSegments))
	row.SegmentChanged = make([]*bool, len(f.WindowSegments))
	row.TruncatedRefs = each(f.TruncationRecords, func(t *schema.Truncation) string { return t.ItemRef.ID() })
	row.TruncatedBefore = each(f.TruncationRecords, func(t *schema.Truncation) *int64 { return t.TokensBefore })
	row.TruncatedAfter = each(f.TruncationRecords, func(t *schema.Truncation) *int64 { return t.TokensAfter })
	row.TruncatedStrategies = each(f.TruncationRecords, func(t *schema.Truncation) string { return t.Strategy })
	return row
}

func Pressure(h Head, f *schema.PressureApplied) Window {
	return Window{
		Head: h, RecordKind: "pressure", RecordID: f.PressureID, CallID: f.CallID, Model: f.Model,
		Step: f.Step, StepName: f.Name, Policy: f.Policy, Outcome: string(f.Outcome),
		TokensBefore: f.TokensBefore, TokensAfter: f.TokensAfter, LimitTokens: f.LimitTokens,
		ItemRefs: schema.RefIDs(f.ItemRefs), SummaryRef: f.SummaryRef.ID(), Reason: f.Reason, Metadata: JSONText(f.Metadata),
	}
}

func Usage(h Head, f *schema.UsageRecorded) Window {
	row := Window{
		Head: h, RecordKind: "usage", RecordID: f.CallID, CallID: f.CallID, Model: f.Model, Estimator: f.Estimator,
		SystemTokens: f.SystemTokens, ToolsTokens: f.ToolsTokens, HistoryTokens: f.HistoryTokens, TotalTokens: f.TotalTokens,
		WindowFirst: f.WindowFirst, WindowNext: f.WindowNext, Metadata: JSONText(f.Metadata),
	}
	row.Segments = each(f.Layers, func(l *schema.LayerUsage) string { return l.Layer })
	row.SegmentRoles = make([]string, len(f.Layers))
	row.SegmentLayers = row.Segments
	row.SegmentTokens = each(f.Layers, func(l *schema.LayerUsage) *int64 { return l.Tokens })
	row.SegmentItems = each(f.Layers, func(l *schema.LayerUsage) *int64 { return l.Items })
	row.SegmentReserved = make([]*int64, len(f.Layers))
	row.SegmentPlacements = each(f.Layers, func(l *schema.LayerUsage) string { return l.Placement })
	row.SegmentChanged = each(f.Layers, func(l *schema.LayerUsage) *bool { return l.Changed })
	row.SegmentReported = said(f.Layers, func(l *schema.LayerUsage) *int64 { return l.Reported })
	row.SegmentReportedBy = said(f.Layers, func(l *schema.LayerUsage) string { return l.ReportedBy })
	return row
}

// Call is a row of the table calls: the bill of the provider.
type Call struct {
	Head
	CallID               string   `ch:"call_id"`
	Model                string   `ch:"model"`
	UncachedInput        *int64   `ch:"uncached_input"`
	CacheRead            *int64   `ch:"cache_read"`
	CacheWrite5m         *int64   `ch:"cache_write_5m"`
	CacheWrite1h         *int64   `ch:"cache_write_1h"`
	CacheWrite           *int64   `ch:"cache_write"`
	Output               *int64   `ch:"output"`
	Reasoning            *int64   `ch:"reasoning"`
	WindowTokens         *int64   `ch:"window_tokens"`
	EstimatedTokens      *int64   `ch:"estimated_tokens"`
	LineageID            string   `ch:"lineage_id"`
	AssemblyID           string   `ch:"assembly_id"`
	SystemDigest         string   `ch:"system_digest"`
	ToolsDigest          string   `ch:"tools_digest"`
	GapSeconds           *float64 `ch:"gap_seconds"`
	CacheLifetimeSeconds *int64   `ch:"cache_lifetime_seconds"`
	Cost                 *float64 `ch:"cost"`
	Currency             string   `ch:"currency"`
	PriceRef             string   `ch:"price_ref"`
	StopReason           string   `ch:"stop_reason"`
	WindowFirst          *int64   `ch:"window_first"`
	WindowNext           *int64   `ch:"window_next"`
	ProviderUsage        string   `ch:"provider_usage"`
	Metadata             string   `ch:"metadata"`
	Tags                 []string `ch:"tags"`
	AnsweredModel        string   `ch:"answered_model"`
	ProviderMessageID    string   `ch:"provider_message_id"`
	Fidelity             string   `ch:"fidelity"`
	Coverage             string   `ch:"coverage"`
	CoverageReasons      []string `ch:"coverage_reasons"`
}

func NewCall(h Head, f *schema.UsageRecorded) Call {
	u := f.Usage
	row := Call{
		Head: h, CallID: f.CallID, Model: f.Model,
		UncachedInput: u.UncachedInput, CacheRead: u.CacheRead, CacheWrite5m: u.CacheWrite5m, CacheWrite1h: u.CacheWrite1h,
		CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning, EstimatedTokens: f.TotalTokens,
		LineageID: f.LineageID, AssemblyID: f.AssemblyID, SystemDigest: f.SystemDigest, ToolsDigest: f.ToolsDigest,
		GapSeconds: f.GapSeconds, CacheLifetimeSeconds: f.CacheLifetimeSeconds, Cost: f.Cost, Currency: f.Currency,
		PriceRef: f.PriceRef.ID(), StopReason: f.StopReason, WindowFirst: f.WindowFirst, WindowNext: f.WindowNext,
		ProviderUsage: JSONText(f.ProviderUsage), Metadata: JSONText(f.Metadata), Tags: f.Tags, AnsweredModel: f.AnsweredModel,
		ProviderMessageID: f.ProviderMessageID, Fidelity: string(f.Fidelity), Coverage: string(f.Coverage), CoverageReasons: f.CoverageReasons,
	}
	if window, known := u.Window(); known {
		row.WindowTokens = &window
	}
	return row
}
