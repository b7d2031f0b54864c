package schema

// Block is one ordered part of an assembly.
type Block struct {
	Block          string         `json:"block"`
	ItemRefs       []Ref          `json:"item_refs,omitempty"`
	Position       *int64         `json:"position,omitempty"` // 0 is first
	Layer          string         `json:"layer,omitempty"`
	Role           string         `json:"role,omitempty"`
	Wrapper        string         `json:"wrapper,omitempty"`
	Visibility     []string       `json:"visibility,omitempty"`
	Tokens         *int64         `json:"tokens,omitempty"`
	Digest         string         `json:"digest,omitempty"`
	RedactionState RedactionState `json:"redaction_state,omitempty"`
	Content        string         `json:"content,omitempty"`
}

// AssemblyCreated records the ordered blocks made for one target. It does not
// say that they became visible: that is [InjectionApplied].
type AssemblyCreated struct {
	Common
	AssemblyID      string         `json:"assembly_id" ctx:"required"`
	CallID          string         `json:"call_id,omitempty"`
	Target          string         `json:"target" ctx:"required"`
	OrderedBlocks   []Block        `json:"ordered_blocks" ctx:"required"`
	WrappingPolicy  Ref            `json:"wrapping_policy,omitzero"`
	SeparatorPolicy Ref            `json:"separator_policy,omitzero"`
	Visibility      []string       `json:"visibility,omitempty"`
	BudgetRef       Ref            `json:"budget_ref,omitzero"`
	SourceItemRefs  []Ref          `json:"source_item_refs,omitempty"`
	RedactionState  RedactionState `json:"redaction_state,omitempty"`
}

func (*AssemblyCreated) EventType() Type    { return TypeAssemblyCreated }
func (f *AssemblyCreated) RecordID() string { return f.AssemblyID }

// Injection is what both injection facts share.
type Injection struct {
	InjectionID    string         `json:"injection_id" ctx:"required"`
	CallID         string         `json:"call_id,omitempty"`
	AssemblyID     string         `json:"assembly_id,omitempty"`
	Target         string         `json:"target,omitempty"`
	InjectionPoint InjectionPoint `json:"injection_point,omitempty"`
	InjectionKind  string         `json:"injection_kind,omitempty"` // window, head, persona, reminder, memory, tool_visible, …
	ItemRefs       []Ref          `json:"item_refs,omitempty"`
	AttachedTo     Ref            `json:"attached_to,omitzero"`
	Ephemeral      bool           `json:"ephemeral,omitzero"`
	PersonaFrom    string         `json:"persona_from,omitempty"`
	PersonaTo      string         `json:"persona_to,omitempty"`
	CueItemRef     Ref            `json:"cue_item_ref,omitzero"`
	Tokens         *int64         `json:"tokens,omitempty"`
	Digest         string         `json:"digest,omitempty"`
	RedactionState RedactionState `json:"redaction_state,omitempty"`
	Content        string         `json:"content,omitempty"`
}

func (i *Injection) RecordID() string { return i.InjectionID }

// InjectionApplied records that context became visible to a target.
type InjectionApplied struct {
	Common
	Injection
}

// InjectionRemoved records that injected context was taken away again.
type InjectionRemoved struct {
	Common
	Injection
	ReplacedBy    Ref    `json:"replaced_by,omitzero"`
	RemovedByPass string `json:"removed_by_pass,omitempty"`
}

func (*InjectionApplied) EventType() Type { return TypeInjectionApplied }
func (*InjectionRemoved) EventType() Type { return TypeInjectionRemoved }
