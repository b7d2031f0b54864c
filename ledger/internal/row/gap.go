package row

import "github.com/ctxledger/ctxledger/schema"

// Redaction is a row of the table redactions.
type Redaction struct {
	Head
	RecordID            string   `ch:"record_id"`
	CallID              string   `ch:"call_id"`
	TargetRef           string   `ch:"target_ref"`
	RedactionState      string   `ch:"redaction_state"`
	Method              string   `ch:"method"`
	RedactedFields      []string `ch:"redacted_fields"`
	Reason              string   `ch:"reason"`
	PolicyRefs          []string `ch:"policy_refs"`
	Actor               string   `ch:"actor"`
	ReplacementRef      string   `ch:"replacement_ref"`
	FingerprintKeys     []string `ch:"fingerprint_keys"`
	FingerprintLengths  []int64  `ch:"fingerprint_lengths"`
	FingerprintPrefixes []string `ch:"fingerprint_prefixes"`
	FingerprintHMACs    []string `ch:"fingerprint_hmacs"`
	Metadata            string   `ch:"metadata"`
}

func NewRedaction(h Head, f *schema.RedactionApplied) Redaction {
	row := Redaction{
		Head: h, RecordID: f.RedactionID, CallID: f.CallID, TargetRef: f.TargetRef.ID(), RedactionState: string(f.RedactionState),
		Method: f.Method, RedactedFields: f.RedactedFields, Reason: f.Reason, PolicyRefs: schema.RefIDs(f.PolicyRefs),
		Actor: f.ActorRef.ID(), ReplacementRef: f.ReplacementRef.ID(), Metadata: JSONText(f.Metadata),
	}
	row.FingerprintKeys = each(f.Fingerprints, func(p *schema.Fingerprint) string { return p.KeyID })
	row.FingerprintLengths = each(f.Fingerprints, func(p *schema.Fingerprint) int64 { return p.Length })
	row.FingerprintPrefixes = each(f.Fingerprints, func(p *schema.Fingerprint) string { return p.PrefixHash })
	row.FingerprintHMACs = each(f.Fingerprints, func(p *schema.Fingerprint) string { return p.HMAC })
	return row
}

// Missing is a row of the table missing: one step in the life of a gap.
type Missing struct {
	Head
	Change            string   `ch:"change"`
	MissingID         string   `ch:"missing_id"`
	Scope             string   `ch:"scope"`
	CallID            string   `ch:"call_id"`
	Question          string   `ch:"question"`
	NeededFor         string   `ch:"needed_for"`
	Severity          string   `ch:"severity"`
	CandidateSources  string   `ch:"candidate_sources"`
	CandidateItemRefs []string `ch:"candidate_item_refs"`
	BlockedActions    []string `ch:"blocked_actions"`
	RequestedFrom     string   `ch:"requested_from"`
	RequestedAction   string   `ch:"requested_action"`
	UserSummary       string   `ch:"user_summary"`
	Status            string   `ch:"status"`
	ResolutionRefs    []string `ch:"resolution_refs"`
	PolicyRefs        []string `ch:"policy_refs"`
	Metadata          string   `ch:"metadata"`
}

func NewMissing(h Head, change string, c *schema.Common, m *schema.Missing) Missing {
	return Missing{
		Head: h, Change: change, MissingID: m.MissingID, Scope: m.Scope, CallID: m.CallID, Question: m.Question,
		NeededFor: m.NeededFor, Severity: string(m.Severity), CandidateSources: JSONText(m.CandidateSources),
		CandidateItemRefs: schema.RefIDs(m.CandidateItemRefs), BlockedActions: m.BlockedActions, RequestedFrom: m.RequestedFrom.ID(),
		RequestedAction: m.RequestedAction, UserSummary: m.UserSummary, Status: string(m.Status),
		ResolutionRefs: schema.RefIDs(m.ResolutionRefs), PolicyRefs: schema.RefIDs(c.PolicyRefs), Metadata: JSONText(c.Metadata),
	}
}
