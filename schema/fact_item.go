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
	Layer           string         `json:"layer,omitempty"`                            // what fills the window: system, user, tool_results, …
	Role            string         `json:"role,omitempty"`                             // of the message: system, user, assistant, tool
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
	LogItemID     string `json:"log_item_id" ctx:"required"` // id of the record
	LogID         string `json:"log_id,omitempty"`           // default: the thread
	Position      *int64 `json:"position,omitempty"`         // in the log, from 0
	ItemType      string `json:"item_type" ctx:"required"`   // message, function_call, function_call_output, reasoning or prefix:name
	Role          string `json:"role,omitempty"`             // of the message: system, user, assistant, tool
	Name          string `json:"name,omitempty"`             // of the function
	ToolCallID    string `json:"tool_call_id,omitempty"`     // the tool call
	CallID        string `json:"call_id,omitempty"`          // the model call that it belongs to
	Status        string `json:"status,omitempty"`           // in_progress, completed, incomplete
	ItemRef       Ref    `json:"item_ref,omitzero"`          // the context item that the entry carries
	ParentRef     Ref    `json:"parent_ref,omitzero"`        // the entry that this one follows
	Tokens        *int64 `json:"tokens,omitempty"`           // by the estimator of the call
	ByteSize      *int64 `json:"byte_size,omitempty"`        // bytes of the content
	ContentDigest string `json:"content_digest,omitempty"`   // keyed digest of the content
}

func (*LogAppended) EventType() Type    { return TypeLogAppended }
func (f *LogAppended) RecordID() string { return f.LogItemID }
