package schema

// SequenceRanges are the sequences that one source used in a scope, as closed ranges. Parallel
// runs of a session interleave. A source may therefore have several ranges.
type SequenceRanges struct {
	Source string     `json:"source"` // the events' source attribute
	Ranges [][2]int64 `json:"ranges"` // closed ranges [first, last], in order
}

// EnvelopeCreated seals a scope. EnvelopeCreated is a portable snapshot of the scope's records
// and of their sequences.
type EnvelopeCreated struct {
	Common
	ContextID          string           `json:"context_id" ctx:"required"`          // id of the record
	Scope              string           `json:"scope" ctx:"required" words:"Scope"` // the scope that the record is about
	Lifecycle          Lifecycle        `json:"lifecycle" ctx:"required"`           // lifecycle state of the context
	Producer           Ref              `json:"producer,omitzero"`                  // the program that recorded the scope
	ActorRefs          []Ref            `json:"actor_refs,omitempty"`               // the actors that took part
	RuntimeRefs        []Ref            `json:"runtime_refs,omitempty"`             // ids of runtime records that used the context, without their status
	SurfaceRefs        []Ref            `json:"surface_refs,omitempty"`             // surfaces of the scope
	ItemRefs           []Ref            `json:"item_refs,omitempty"`                // items of the scope
	SelectionRefs      []Ref            `json:"selection_refs,omitempty"`           // selections of the scope
	BudgetRef          Ref              `json:"budget_ref,omitzero"`                // the budget in force
	AssemblyRefs       []Ref            `json:"assembly_refs,omitempty"`            // assemblies of the scope
	InjectionRefs      []Ref            `json:"injection_refs,omitempty"`           // injections of the scope
	CompactionRefs     []Ref            `json:"compaction_refs,omitempty"`          // compactions of the scope
	MissingContextRefs []Ref            `json:"missing_context_refs,omitempty"`     // known gaps of the scope
	Sequences          []SequenceRanges `json:"sequences,omitempty"`                // sequences of the events, per source
	Tags               []string         `json:"tags,omitempty"`                     // the scope's own tags
}

func (*EnvelopeCreated) EventType() Type    { return TypeEnvelopeCreated }
func (f *EnvelopeCreated) RecordID() string { return f.ContextID }

// Exported records that an evidence pack was made.
type Exported struct {
	Common
	PackID     string `json:"pack_id" ctx:"required"`             // id of the record
	Scope      string `json:"scope" ctx:"required" words:"Scope"` // the scope that the record is about
	Digest     string `json:"digest,omitempty"`                   // digest of the pack
	Checkpoint string `json:"checkpoint,omitempty"`               // signed tree head of the transparency log
}

func (*Exported) EventType() Type    { return TypeExported }
func (f *Exported) RecordID() string { return f.PackID }

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
