package schema

// Fingerprint lets a holder of the tenant key recognise a withheld value
// without keeping it. Values shorter than 8 bytes have none.
type Fingerprint struct {
	KeyID      string `json:"key_id"`
	Length     int64  `json:"length"`      // bytes
	PrefixHash string `json:"prefix_hash"` // keyed rolling hash of the first 8 bytes, hex
	HMAC       string `json:"hmac"`        // HMAC-SHA-256 of the whole value, hex
}

// RedactionApplied records that sensitive content was withheld. It carries a
// reason and policy refs, never the value.
type RedactionApplied struct {
	Common
	RedactionID    string         `json:"redaction_id" ctx:"required"`
	TargetRef      Ref            `json:"target_ref" ctx:"required"`
	CallID         string         `json:"call_id,omitempty"`
	RedactionState RedactionState `json:"redaction_state" ctx:"required"`
	Method         string         `json:"method,omitempty"`
	RedactedFields []string       `json:"redacted_fields,omitempty"`
	Reason         string         `json:"reason" ctx:"required"`
	ActorRef       Ref            `json:"actor_ref,omitzero"`
	ReplacementRef Ref            `json:"replacement_ref,omitzero"`
	Fingerprints   []Fingerprint  `json:"fingerprints,omitempty"`
}

func (*RedactionApplied) EventType() Type    { return TypeRedactionApplied }
func (f *RedactionApplied) RecordID() string { return f.RedactionID }

// Missing is a known gap: what is not there, who could supply it, and what to
// tell the user meanwhile. Nothing in it can grant anything.
type Missing struct {
	MissingID         string           `json:"missing_id" ctx:"required"`
	Scope             string           `json:"scope,omitempty"`
	CallID            string           `json:"call_id,omitempty"`
	Question          string           `json:"question,omitempty"`
	NeededFor         string           `json:"needed_for,omitempty"`
	Severity          Severity         `json:"severity,omitempty"`
	CandidateSources  []map[string]any `json:"candidate_sources,omitempty"`
	CandidateItemRefs []Ref            `json:"candidate_item_refs,omitempty"`
	BlockedActions    []string         `json:"blocked_actions,omitempty"`
	RequestedFrom     Ref              `json:"requested_from,omitzero"` // the owner
	RequestedAction   string           `json:"requested_action,omitempty"`
	UserSummary       string           `json:"user_summary,omitempty"` // safe to show
	Status            MissingStatus    `json:"status" ctx:"required"`
	ResolutionRefs    []Ref            `json:"resolution_refs,omitempty"`
}

func (m *Missing) RecordID() string { return m.MissingID }

// MissingDetected records that a gap was found.
type MissingDetected struct {
	Common
	Missing
}

// MissingRequested records that the owner was asked.
type MissingRequested struct {
	Common
	Missing
}

// MissingResolved records how the gap ended.
type MissingResolved struct {
	Common
	Missing
}

func (*MissingDetected) EventType() Type  { return TypeMissingDetected }
func (*MissingRequested) EventType() Type { return TypeMissingRequested }
func (*MissingResolved) EventType() Type  { return TypeMissingResolved }
