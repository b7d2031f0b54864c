package schema

// Block is one ordered part of an assembly.
type Block struct {
	Block          string         `json:"block"`                                   // the block's name or id
	ItemRefs       []Ref          `json:"item_refs,omitempty"`                     // items that it holds, in order
	Position       *int64         `json:"position,omitempty"`                      // 0 is first
	Layer          string         `json:"layer,omitempty"`                         // what fills the window: system, user, tool_results, …
	Role           string         `json:"role,omitempty"`                          // of the message: system, user, assistant, tool
	Wrapper        string         `json:"wrapper,omitempty"`                       // what stands around the items
	Visibility     []string       `json:"visibility,omitempty" words:"Visibility"` // who may see it
	Tokens         *int64         `json:"tokens,omitempty"`                        // by the estimator of the call
	Digest         string         `json:"digest,omitempty"`                        // keyed digest of the content
	RedactionState RedactionState `json:"redaction_state,omitempty"`               // how much is withheld
	Content        string         `json:"content,omitempty"`                       // the text itself, where a producer chose to inline it
}

// AssemblyCreated records the ordered blocks made for one target. It does not
// say that they became visible: that is [InjectionApplied].
type AssemblyCreated struct {
	Common
	AssemblyID      string         `json:"assembly_id" ctx:"required"`              // id of the record
	CallID          string         `json:"call_id,omitempty"`                       // the model call that it belongs to
	Target          string         `json:"target" ctx:"required"`                   // who is to see it, such as model
	OrderedBlocks   []Block        `json:"ordered_blocks" ctx:"required"`           // in the order of the window
	WrappingPolicy  Ref            `json:"wrapping_policy,omitzero"`                // how items are wrapped
	SeparatorPolicy Ref            `json:"separator_policy,omitzero"`               // how blocks are told apart
	Visibility      []string       `json:"visibility,omitempty" words:"Visibility"` // who may see it
	BudgetRef       Ref            `json:"budget_ref,omitzero"`                     // the budget in force
	SourceItemRefs  []Ref          `json:"source_item_refs,omitempty"`              // items that it was made from
	RedactionState  RedactionState `json:"redaction_state,omitempty"`               // how much is withheld
}

func (*AssemblyCreated) EventType() Type    { return TypeAssemblyCreated }
func (f *AssemblyCreated) RecordID() string { return f.AssemblyID }

// Injection is what both injection facts share.
type Injection struct {
	InjectionID    string         `json:"injection_id" ctx:"required"` // id of the record
	CallID         string         `json:"call_id,omitempty"`           // the model call that it belongs to
	AssemblyID     string         `json:"assembly_id,omitempty"`       // the assembly of blocks
	Target         string         `json:"target,omitempty"`            // who is to see it, such as model
	InjectionPoint InjectionPoint `json:"injection_point,omitempty"`   // where in the request it stands
	InjectionKind  string         `json:"injection_kind,omitempty"`    // window, head, persona, reminder, memory, tool_visible, …
	ItemRefs       []Ref          `json:"item_refs,omitempty"`         // items that it holds, in order
	AttachedTo     Ref            `json:"attached_to,omitzero"`        // the message or item that it stands with
	Ephemeral      bool           `json:"ephemeral,omitzero"`          // whether it is gone after the call
	PersonaFrom    string         `json:"persona_from,omitempty"`      // the persona before
	PersonaTo      string         `json:"persona_to,omitempty"`        // the persona after
	CueItemRef     Ref            `json:"cue_item_ref,omitzero"`       // what caused the change of persona
	Tokens         *int64         `json:"tokens,omitempty"`            // by the estimator of the call
	Digest         string         `json:"digest,omitempty"`            // keyed digest of the content
	RedactionState RedactionState `json:"redaction_state,omitempty"`   // how much is withheld
	Content        string         `json:"content,omitempty"`           // the text itself, where a producer chose to inline it
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
	ReplacedBy    Ref    `json:"replaced_by,omitzero"`      // what stands there now
	RemovedByPass string `json:"removed_by_pass,omitempty"` // the elision pass that took it away
}

func (*InjectionApplied) EventType() Type { return TypeInjectionApplied }
func (*InjectionRemoved) EventType() Type { return TypeInjectionRemoved }
