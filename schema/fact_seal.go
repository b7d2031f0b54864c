package schema

// SequenceRanges are the sequences that one source used in a scope, as closed
// ranges. Parallel runs of a session interleave, so there may be several.
type SequenceRanges struct {
	Source string     `json:"source"`
	Ranges [][2]int64 `json:"ranges"`
}

// EnvelopeCreated seals a scope: the portable snapshot of what was recorded
// in it, and which sequences belong to it.
type EnvelopeCreated struct {
	Common
	ContextID          string           `json:"context_id" ctx:"required"`
	Scope              string           `json:"scope" ctx:"required"`
	Lifecycle          Lifecycle        `json:"lifecycle" ctx:"required"`
	Producer           Ref              `json:"producer,omitzero"`
	ActorRefs          []Ref            `json:"actor_refs,omitempty"`
	RuntimeRefs        []Ref            `json:"runtime_refs,omitempty"`
	SurfaceRefs        []Ref            `json:"surface_refs,omitempty"`
	ItemRefs           []Ref            `json:"item_refs,omitempty"`
	SelectionRefs      []Ref            `json:"selection_refs,omitempty"`
	BudgetRef          Ref              `json:"budget_ref,omitzero"`
	AssemblyRefs       []Ref            `json:"assembly_refs,omitempty"`
	InjectionRefs      []Ref            `json:"injection_refs,omitempty"`
	CompactionRefs     []Ref            `json:"compaction_refs,omitempty"`
	MissingContextRefs []Ref            `json:"missing_context_refs,omitempty"`
	Sequences          []SequenceRanges `json:"sequences,omitempty"`
}

func (*EnvelopeCreated) EventType() Type    { return TypeEnvelopeCreated }
func (f *EnvelopeCreated) RecordID() string { return f.ContextID }

// Exported records that an evidence pack was made.
type Exported struct {
	Common
	PackID     string `json:"pack_id" ctx:"required"`
	Scope      string `json:"scope" ctx:"required"`
	Digest     string `json:"digest,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
}

func (*Exported) EventType() Type    { return TypeExported }
func (f *Exported) RecordID() string { return f.PackID }

// ErasedRecord is one record whose content was erased.
type ErasedRecord struct {
	Stream   string `json:"stream"`
	Sequence int64  `json:"sequence"`
	Leaf     string `json:"leaf"` // hex
}

// ErasureApplied records that content was erased on request.
type ErasureApplied struct {
	Common
	ErasureID     string         `json:"erasure_id" ctx:"required"`
	ErasedSubject string         `json:"erased_subject" ctx:"required"`
	Reason        string         `json:"reason" ctx:"required"`
	Records       []ErasedRecord `json:"records,omitempty"`
}

func (*ErasureApplied) EventType() Type    { return TypeErasureApplied }
func (f *ErasureApplied) RecordID() string { return f.ErasureID }

// FactsDropped records that a producer had to drop facts. Dropped facts use
// up their sequences, so the gap stays visible.
type FactsDropped struct {
	Common
	DropID    string           `json:"drop_id" ctx:"required"`
	Sequences []SequenceRanges `json:"sequences,omitempty"`
	Count     *int64           `json:"count" ctx:"required"`
	Reason    string           `json:"reason" ctx:"required"`
}

func (*FactsDropped) EventType() Type    { return TypeFactsDropped }
func (f *FactsDropped) RecordID() string { return f.DropID }
