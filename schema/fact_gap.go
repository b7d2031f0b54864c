package schema

// Fingerprint lets a holder of the tenant key recognise a withheld value
// without keeping it. Values shorter than 8 bytes have none.
type Fingerprint struct {
	KeyID      string `json:"key_id"`      // the tenant key
	Length     int64  `json:"length"`      // bytes
	PrefixHash string `json:"prefix_hash"` // keyed rolling hash of the first 8 bytes, hex
	HMAC       string `json:"hmac"`        // HMAC-SHA-256 of the whole value, hex
}

// RedactionApplied records that sensitive content was withheld. It carries a
// reason and policy refs, never the value.
type RedactionApplied struct {
	Common
	RedactionID    string         `json:"redaction_id" ctx:"required"`    // id of the record
	TargetRef      Ref            `json:"target_ref" ctx:"required"`      // the item that was redacted
	CallID         string         `json:"call_id,omitempty"`              // the model call that it belongs to
	RedactionState RedactionState `json:"redaction_state" ctx:"required"` // what is left of the target
	Method         string         `json:"method,omitempty"`               // how it was withheld, such as pattern
	RedactedFields []string       `json:"redacted_fields,omitempty"`      // names or JSON Pointers of what was withheld
	Reason         string         `json:"reason" ctx:"required"`          // why, for people
	ActorRef       Ref            `json:"actor_ref,omitzero"`             // who decided
	ReplacementRef Ref            `json:"replacement_ref,omitzero"`       // what stands there instead
	Fingerprints   []Fingerprint  `json:"fingerprints,omitempty"`         // to recognise the withheld values by
}

func (*RedactionApplied) EventType() Type    { return TypeRedactionApplied }
func (f *RedactionApplied) RecordID() string { return f.RedactionID }

// Missing is a known gap: what is not there, who could supply it, and what to
// tell the user meanwhile. Nothing in it can grant anything.
type Missing struct {
	MissingID         string           `json:"missing_id" ctx:"required"`     // id of the record; the same from detected to resolved
	Scope             string           `json:"scope,omitempty" words:"Scope"` // what it is about
	CallID            string           `json:"call_id,omitempty"`             // the model call that it belongs to
	Question          string           `json:"question,omitempty"`            // what is missing
	NeededFor         string           `json:"needed_for,omitempty"`          // what it is needed for
	Severity          Severity         `json:"severity,omitempty"`            // how much the gap hurts
	CandidateSources  []map[string]any `json:"candidate_sources,omitempty"`   // where it might be found
	CandidateItemRefs []Ref            `json:"candidate_item_refs,omitempty"` // items that could fill the gap
	BlockedActions    []string         `json:"blocked_actions,omitempty"`     // what cannot go on meanwhile
	RequestedFrom     Ref              `json:"requested_from,omitzero"`       // the owner
	RequestedAction   string           `json:"requested_action,omitempty"`    // what the owner should do
	UserSummary       string           `json:"user_summary,omitempty"`        // safe to show
	Status            MissingStatus    `json:"status" ctx:"required"`         // the state of the gap
	ResolutionRefs    []Ref            `json:"resolution_refs,omitempty"`     // what ended the gap
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
