package schema

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Surface is what was available to choose from.
type Surface struct {
	SurfaceID           string     `json:"surface_id" ctx:"required"`                  // id of the record
	Scope               string     `json:"scope,omitempty" words:"Scope"`              // what it is about
	SurfaceKind         string     `json:"surface_kind,omitempty" words:"SurfaceKind"` // what was offered
	AvailableItemRefs   []Ref      `json:"available_item_refs,omitempty"`              // items that could be chosen
	AvailableSourceRefs []Ref      `json:"available_source_refs,omitempty"`            // sources that could be read
	CapabilityRefs      []Ref      `json:"capability_refs,omitempty"`                  // tools and skills that could be used
	Visibility          []string   `json:"visibility,omitempty" words:"Visibility"`    // who may see it
	ExpiresAt           *time.Time `json:"expires_at,omitempty"`                       // RFC 3339
}

func (s *Surface) RecordID() string { return s.SurfaceID }

// SurfaceCreated records a surface when it is first offered.
type SurfaceCreated struct {
	Common
	Surface
}

// SurfaceUpdated records the whole surface after a change.
type SurfaceUpdated struct {
	Common
	Surface
}

func (*SurfaceCreated) EventType() Type { return TypeSurfaceCreated }
func (*SurfaceUpdated) EventType() Type { return TypeSurfaceUpdated }

// SourceRef says where content came from.
type SourceRef struct {
	SourceID         string           `json:"source_id,omitempty"`                      // id of the source
	URI              string           `json:"uri,omitzero"`                             // where the source is
	SourceKind       string           `json:"source_kind,omitempty" words:"SourceKind"` // what the source is
	Selector         any              `json:"selector,omitzero"`                        // which part of the source: an object with a type, an array or a string
	Digest           string           `json:"digest,omitempty"`                         // keyed digest of the content
	Authority        string           `json:"authority,omitempty"`                      // who vouches for the source
	ExternalMappings []map[string]any `json:"external_mappings,omitempty"`              // ids of the source in other systems
	RetrievedAt      *time.Time       `json:"retrieved_at,omitempty"`                   // when it was read, RFC 3339
	ModifiedAt       *time.Time       `json:"modified_at,omitempty"`                    // when the source last changed, RFC 3339
}

// UnmarshalJSONFrom reads the object form, or the bare string that the
// standard also allows: a URI when it has a colon, an id otherwise.
func (s *SourceRef) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		type plain SourceRef
		return json.UnmarshalDecode(dec, (*plain)(s))
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	return s.fromText(token.String())
}

func (s *SourceRef) fromText(text string) error {
	if strings.Contains(text, ":") {
		*s = SourceRef{URI: text}
	} else {
		*s = SourceRef{SourceID: text}
	}
	return nil
}

// Item is one unit of context. ContentDigest commits to the content by a
// keyed digest; the content itself is present only when a producer chose to
// inline it.
type Item struct {
	ItemID          string         `json:"item_id" ctx:"required"`                     // id of the record
	ContextKind     string         `json:"context_kind,omitempty" words:"ContextKind"` // what the item is
	Title           string         `json:"title,omitempty"`                            // for people
	ContentMode     ContentMode    `json:"content_mode,omitempty"`                     // how the content travels
	Content         any            `json:"content,omitzero"`                           // inline content, where a producer chose to send it
	ContentRef      Ref            `json:"content_ref,omitzero"`                       // where the content is
	ContentDigest   string         `json:"content_digest,omitempty"`                   // keyed digest of the content
	MimeType        string         `json:"mime_type,omitempty"`                        // media type of the content
	Language        string         `json:"language,omitempty"`                         // BCP 47 tag
	SourceRefs      []SourceRef    `json:"source_refs,omitempty"`                      // where the content came from
	TokenEstimate   *int64         `json:"token_estimate,omitempty"`                   // tokens of the content
	Estimator       string         `json:"estimator,omitempty"`                        // what counted the tokens
	ByteSize        *int64         `json:"byte_size,omitempty"`                        // bytes of the content
	Freshness       any            `json:"freshness,omitzero"`                         // how current it is: a word or an object
	TrustLevel      string         `json:"trust_level,omitempty"`                      // how far the source is trusted
	Sensitivity     string         `json:"sensitivity,omitempty"`                      // how sensitive it is, such as internal
	RedactionState  RedactionState `json:"redaction_state,omitempty"`                  // how much is withheld
	RedactionReason string         `json:"redaction_reason,omitempty"`                 // why content is withheld
	Visibility      []string       `json:"visibility,omitempty" words:"Visibility"`    // who may see it
	Priority        *float64       `json:"priority,omitempty"`                         // higher is kept longer
	Pinned          bool           `json:"pinned,omitzero"`                            // whether nothing may take it out of the window
	Essential       bool           `json:"essential,omitzero"`                         // whether it stays where other retrieved context is dropped
	BindingID       string         `json:"binding_id,omitempty"`                       // the resource, as a run has it, whose provider gave it
	Layer           string         `json:"layer,omitempty"`                            // what fills the window: system, user, tool_results, …
	Role            string         `json:"role,omitempty"`                             // of the message: system, user, assistant, tool
	Offers          []Ref          `json:"offers,omitempty"`                           // items and sources that it proposes to the model
	OfferedBy       Ref            `json:"offered_by,omitzero"`                        // the item that proposed this one, which the model accepted
	Reads           string         `json:"reads,omitempty"`                            // the file or resource that the content shows
	Parts           []Part         `json:"parts,omitempty"`                            // the content's parts, in order, where it is more than one text
}

// Part is one part of an item's content (seed 003): a text, an image, a file. It
// refers to its content and never holds it. A text needs a reference, a digest or a
// size, any other part a reference.
type Part struct {
	PartKind  string `json:"part_kind" words:"PartKind"` // text, image, file, …
	Name      string `json:"name,omitempty"`             // such as the name of the file
	MimeType  string `json:"mime_type,omitempty"`        // media type of the content
	Ref       Ref    `json:"ref,omitzero"`               // where the content is
	Detail    string `json:"detail,omitempty"`           // how closely the model looks: auto, low, high
	ByteSize  *int64 `json:"byte_size,omitempty"`        // bytes of the content
	Digest    string `json:"digest,omitempty"`           // keyed digest of the content
	Tokens    *int64 `json:"tokens,omitempty"`           // tokens of the part
	Estimator string `json:"estimator,omitempty"`        // what counted the tokens
	Content   any    `json:"content,omitzero"`           // refused: a part refers to its content
}

func (i *Item) RecordID() string { return i.ItemID }

// ItemAdded records a new item.
type ItemAdded struct {
	Common
	Item
}

// ItemUpdated records the whole item after a change.
type ItemUpdated struct {
	Common
	Item
}

// ItemRemoved records that an item is no longer available.
type ItemRemoved struct {
	Common
	ItemID string `json:"item_id" ctx:"required"` // id of the record
	Reason string `json:"reason,omitempty"`       // why, for people
}

func (*ItemAdded) EventType() Type      { return TypeItemAdded }
func (*ItemUpdated) EventType() Type    { return TypeItemUpdated }
func (*ItemRemoved) EventType() Type    { return TypeItemRemoved }
func (f *ItemRemoved) RecordID() string { return f.ItemID }

// LogAppended records one entry of the append-only item log (seed 003).
// ItemType is message, function_call, function_call_output, reasoning or an
// extension of the form prefix:name. ToolCallID joins a function_call to its
// output; CallID is the model call that produced the entry.
type LogAppended struct {
	Common
	LogItemID     string   `json:"log_item_id" ctx:"required"`          // id of the record
	LogID         string   `json:"log_id,omitempty"`                    // default: the thread
	Position      *int64   `json:"position,omitempty"`                  // in the log, from 0
	ItemType      string   `json:"item_type" ctx:"required"`            // message, function_call, function_call_output, reasoning or prefix:name
	Role          string   `json:"role,omitempty"`                      // of the message: system, user, assistant, tool
	Name          string   `json:"name,omitempty"`                      // of the function
	ToolCallID    string   `json:"tool_call_id,omitempty"`              // the tool call
	CallID        string   `json:"call_id,omitempty"`                   // the model call that it belongs to
	Status        string   `json:"status,omitempty"`                    // in_progress, completed, incomplete
	ItemRef       Ref      `json:"item_ref,omitzero"`                   // the context item that the entry carries
	ParentRef     Ref      `json:"parent_ref,omitzero"`                 // the entry that this one follows
	Tokens        *int64   `json:"tokens,omitempty"`                    // by the estimator of the call
	ByteSize      *int64   `json:"byte_size,omitempty"`                 // bytes of the content
	ContentDigest string   `json:"content_digest,omitempty"`            // keyed digest of the content
	Markers       []string `json:"markers,omitempty" words:"LogMarker"` // what the content holds beyond its type
}

func (*LogAppended) EventType() Type    { return TypeLogAppended }
func (f *LogAppended) RecordID() string { return f.LogItemID }

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
	BindingID      string         `json:"binding_id,omitempty"`        // the resource, as a run has it, whose provider gave it
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
