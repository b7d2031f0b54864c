package schema

// Fingerprint lets a holder of the tenant key recognise a withheld value without a copy of the
// value. Values shorter than 8 bytes have no fingerprint.
type Fingerprint struct {
	KeyID      string `json:"key_id"`      // the tenant key
	Length     int64  `json:"length"`      // length of the value in bytes
	PrefixHash string `json:"prefix_hash"` // keyed rolling hash of the first 8 bytes, hex
	HMAC       string `json:"hmac"`        // HMAC-SHA-256 of the whole value, hex
}

// RedactionApplied records that sensitive content was withheld. RedactionApplied holds a reason
// and policy refs, never the value.
type RedactionApplied struct {
	Common
	RedactionID    string         `json:"redaction_id" ctx:"required"`    // id of the record
	TargetRef      Ref            `json:"target_ref" ctx:"required"`      // the item that was redacted
	CallID         string         `json:"call_id,omitempty"`              // the model call of the record
	RedactionState RedactionState `json:"redaction_state" ctx:"required"` // state of the target's content after the redaction
	Method         string         `json:"method,omitempty"`               // how the content was withheld, such as pattern
	RedactedFields []string       `json:"redacted_fields,omitempty"`      // names or JSON Pointers of the withheld fields
	Reason         string         `json:"reason" ctx:"required"`          // the reason, for people
	ActorRef       Ref            `json:"actor_ref,omitzero"`             // the actor that decided
	ReplacementRef Ref            `json:"replacement_ref,omitzero"`       // the replacement for the withheld content
	Fingerprints   []Fingerprint  `json:"fingerprints,omitempty"`         // fingerprints by which a key holder recognises the withheld values
}

func (*RedactionApplied) EventType() Type    { return TypeRedactionApplied }
func (f *RedactionApplied) RecordID() string { return f.RedactionID }

// RedactionRevoked records that the operator took a redaction back. From the position of the fact
// on, the redaction withholds nothing. Values that were masked before stay masked, and a value that
// another redaction withholds stays withheld. A later redaction counts again.
type RedactionRevoked struct {
	Common
	RedactionID string `json:"redaction_id" ctx:"required"` // the redaction that was taken back
	Reason      string `json:"reason" ctx:"required"`       // the reason, for people
	ActorRef    Ref    `json:"actor_ref,omitzero"`          // the actor that decided
}

func (*RedactionRevoked) EventType() Type    { return TypeRedactionRevoked }
func (f *RedactionRevoked) RecordID() string { return f.RedactionID }

// Missing is a known gap in the context. Missing names the missing information, the owner that
// can supply the information, and a summary for the user. No member can grant a permission.
type Missing struct {
	MissingID         string           `json:"missing_id" ctx:"required"`     // id of the record; the same in all facts of the gap
	Scope             string           `json:"scope,omitempty" words:"Scope"` // the scope that the record is about
	CallID            string           `json:"call_id,omitempty"`             // the model call of the record
	Question          string           `json:"question,omitempty"`            // the missing information, as a question
	NeededFor         string           `json:"needed_for,omitempty"`          // the purpose that needs the missing information
	Severity          Severity         `json:"severity,omitempty"`            // severity of the gap
	CandidateSources  []map[string]any `json:"candidate_sources,omitempty"`   // sources that might hold the missing information
	CandidateItemRefs []Ref            `json:"candidate_item_refs,omitempty"` // items that could fill the gap
	BlockedActions    []string         `json:"blocked_actions,omitempty"`     // actions that wait for the end of the gap
	RequestedFrom     Ref              `json:"requested_from,omitzero"`       // the owner of the missing information
	RequestedAction   string           `json:"requested_action,omitempty"`    // the action that the owner should take
	UserSummary       string           `json:"user_summary,omitempty"`        // summary that is safe to show to the user
	Status            MissingStatus    `json:"status" ctx:"required"`         // the state of the gap
	ResolutionRefs    []Ref            `json:"resolution_refs,omitempty"`     // records that ended the gap
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

// ErasedRecord is one record whose content was erased. Its place remains: in the log, among the
// records of its producer, and in its scopes.
type ErasedRecord struct {
	Stream         string `json:"stream"`                    // JetStream stream
	Sequence       int64  `json:"sequence"`                  // position in the stream
	Leaf           string `json:"leaf"`                      // leaf hash in the transparency log, hex
	Source         string `json:"source,omitempty"`          // the event's source attribute
	SourceSequence *int64 `json:"source_sequence,omitempty"` // the event's sequence attribute: a count per source and session
	SessionID      string `json:"session_id,omitempty"`      // session of the event
	RunID          string `json:"run_id,omitempty"`          // run of the event
	TurnID         string `json:"turn_id,omitempty"`         // turn of the event
	ItemID         string `json:"item_id,omitempty"`         // the item that the record was a version of
}

// ErasureApplied records that content was erased on request.
type ErasureApplied struct {
	Common
	ErasureID     string         `json:"erasure_id" ctx:"required"`     // id of the record
	ErasedSubject string         `json:"erased_subject" ctx:"required"` // keyed digest of the data subject whose content was erased; older facts hold its id
	Reason        string         `json:"reason" ctx:"required"`         // the reason, for people
	Records       []ErasedRecord `json:"records,omitempty"`             // the records whose content was erased
}

func (*ErasureApplied) EventType() Type    { return TypeErasureApplied }
func (f *ErasureApplied) RecordID() string { return f.ErasureID }

// FactsDropped records that a producer had to drop facts. Dropped facts use up their sequences.
// The hole in the sequences therefore stays visible.
type FactsDropped struct {
	Common
	DropID    string           `json:"drop_id" ctx:"required"` // id of the record
	Sequences []SequenceRanges `json:"sequences,omitempty"`    // sequences that the dropped facts used up, per source
	Count     *int64           `json:"count" ctx:"required"`   // number of dropped facts
	Reason    string           `json:"reason" ctx:"required"`  // the reason, for people
}

func (*FactsDropped) EventType() Type    { return TypeFactsDropped }
func (f *FactsDropped) RecordID() string { return f.DropID }
