package schema

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Surface is the set of items, sources and capabilities that a selection can choose from.
type Surface struct {
	SurfaceID           string     `json:"surface_id" ctx:"required"`                  // id of the record
	Scope               string     `json:"scope,omitempty" words:"Scope"`              // the scope that the record is about
	SurfaceKind         string     `json:"surface_kind,omitempty" words:"SurfaceKind"` // kind of the surface
	AvailableItemRefs   []Ref      `json:"available_item_refs,omitempty"`              // items that could be chosen
	AvailableSourceRefs []Ref      `json:"available_source_refs,omitempty"`            // sources that could be read
	CapabilityRefs      []Ref      `json:"capability_refs,omitempty"`                  // tools and skills that could be used
	Visibility          []string   `json:"visibility,omitempty" words:"Visibility"`    // the targets that may see it
	ExpiresAt           *time.Time `json:"expires_at,omitempty"`                       // when the surface expires, RFC 3339
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

// SourceRef names the source of content.
type SourceRef struct {
	SourceID         string           `json:"source_id,omitempty"`                      // id of the source
	URI              string           `json:"uri,omitzero"`                             // location of the source
	SourceKind       string           `json:"source_kind,omitempty" words:"SourceKind"` // kind of the source
	Selector         any              `json:"selector,omitzero"`                        // the part of the source: an object with a type, an array or a string
	Digest           string           `json:"digest,omitempty"`                         // keyed digest of the content
	Authority        string           `json:"authority,omitempty"`                      // the authority that vouches for the source
	ExternalMappings []map[string]any `json:"external_mappings,omitempty"`              // ids of the source in other systems
	RetrievedAt      *time.Time       `json:"retrieved_at,omitempty"`                   // when the source was read, RFC 3339
	ModifiedAt       *time.Time       `json:"modified_at,omitempty"`                    // when the source last changed, RFC 3339
}

// UnmarshalJSONFrom reads the object form or a bare string, which the standard also allows. A
// string with a colon is a URI. Any other string is an id.
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

// Item is one unit of context. ContentDigest is a keyed digest of the content. The content itself
// is present only if the producer chose to send it inline.
type Item struct {
	ItemID          string         `json:"item_id" ctx:"required"`                     // id of the record
	ContextKind     string         `json:"context_kind,omitempty" words:"ContextKind"` // kind of the item
	Title           string         `json:"title,omitempty"`                            // title for people
	ContentMode     ContentMode    `json:"content_mode,omitempty"`                     // how the item carries its content
	Content         any            `json:"content,omitzero"`                           // inline content, if the producer chose to send it
	ContentRef      Ref            `json:"content_ref,omitzero"`                       // location of the content
	ContentDigest   string         `json:"content_digest,omitempty"`                   // keyed digest of the content
	MimeType        string         `json:"mime_type,omitempty"`                        // media type of the content
	Language        string         `json:"language,omitempty"`                         // BCP 47 tag
	SourceRefs      []SourceRef    `json:"source_refs,omitempty"`                      // where the content came from
	TokenEstimate   *int64         `json:"token_estimate,omitempty"`                   // tokens of the content
	Estimator       string         `json:"estimator,omitempty"`                        // the estimator that counted the tokens
	ByteSize        *int64         `json:"byte_size,omitempty"`                        // bytes of the content
	Freshness       any            `json:"freshness,omitzero"`                         // how current the content is: a word or an object
	TrustLevel      string         `json:"trust_level,omitempty"`                      // how far the source is trusted
	Sensitivity     string         `json:"sensitivity,omitempty"`                      // how sensitive the content is, such as internal
	RedactionState  RedactionState `json:"redaction_state,omitempty"`                  // how much of the content is withheld
	RedactionReason string         `json:"redaction_reason,omitempty"`                 // why content is withheld
	Visibility      []string       `json:"visibility,omitempty" words:"Visibility"`    // the targets that may see it
	Priority        *float64       `json:"priority,omitempty"`                         // priority; an item with a higher priority is kept longer
	Pinned          bool           `json:"pinned,omitzero"`                            // whether the item must stay in the window
	Essential       bool           `json:"essential,omitzero"`                         // whether the item stays when other retrieved context is dropped
	BindingID       string         `json:"binding_id,omitempty"`                       // the run's resource binding whose provider supplied this context
	Layer           string         `json:"layer,omitempty"`                            // layer of the window: system, user, tool_results, …
	Role            string         `json:"role,omitempty"`                             // role of the message: system, user, assistant, tool
	Offers          []Ref          `json:"offers,omitempty"`                           // items and sources that the item proposes to the model
	OfferedBy       Ref            `json:"offered_by,omitzero"`                        // the item that proposed this item; the model accepted the proposal
	Reads           string         `json:"reads,omitempty"`                            // the file or resource that the content shows
	Parts           []Part         `json:"parts,omitempty"`                            // parts of the content, in order, if the content is more than one text
}

// Part is one part of an item's content (seed 003): a text, an image, a file. Part refers to its
// content and never holds it. A text needs a reference, a digest or a size. Any other part needs
// a reference.
type Part struct {
	PartKind  string `json:"part_kind" words:"PartKind"` // kind of the part: text, image, file, …
	Name      string `json:"name,omitempty"`             // name of the part, such as a file name
	MimeType  string `json:"mime_type,omitempty"`        // media type of the content
	Ref       Ref    `json:"ref,omitzero"`               // location of the content
	Detail    string `json:"detail,omitempty"`           // detail at which the model views the part: auto, low, high
	ByteSize  *int64 `json:"byte_size,omitempty"`        // bytes of the content
	Digest    string `json:"digest,omitempty"`           // keyed digest of the content
	Tokens    *int64 `json:"tokens,omitempty"`           // tokens of the part
	Estimator string `json:"estimator,omitempty"`        // the estimator that counted the tokens
	Content   any    `json:"content,omitzero"`           // must be absent: a part refers to its content
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
	Reason string `json:"reason,omitempty"`       // the reason, for people
}

func (*ItemAdded) EventType() Type      { return TypeItemAdded }
func (*ItemUpdated) EventType() Type    { return TypeItemUpdated }
func (*ItemRemoved) EventType() Type    { return TypeItemRemoved }
func (f *ItemRemoved) RecordID() string { return f.ItemID }

// LogAppended records one entry of the append-only item log (seed 003). ItemType is message,
// function_call, function_call_output, reasoning or an extension of the form prefix:name.
// ToolCallID joins a function_call to its output. CallID is the model call that produced the
// entry.
type LogAppended struct {
	Common
	LogItemID     string   `json:"log_item_id" ctx:"required"`          // id of the record
	LogID         string   `json:"log_id,omitempty"`                    // id of the item log; default: the thread
	Position      *int64   `json:"position,omitempty"`                  // position in the item log, from 0
	ItemType      string   `json:"item_type" ctx:"required"`            // type of the entry: message, function_call, function_call_output, reasoning or prefix:name
	Role          string   `json:"role,omitempty"`                      // role of the message: system, user, assistant, tool
	Name          string   `json:"name,omitempty"`                      // name of the function
	ToolCallID    string   `json:"tool_call_id,omitempty"`              // the tool call
	CallID        string   `json:"call_id,omitempty"`                   // the model call of the record
	Status        string   `json:"status,omitempty"`                    // status of the entry: in_progress, completed or incomplete
	ItemRef       Ref      `json:"item_ref,omitzero"`                   // the context item that the entry carries
	ParentRef     Ref      `json:"parent_ref,omitzero"`                 // the entry before this entry
	Tokens        *int64   `json:"tokens,omitempty"`                    // tokens by the call's estimator
	ByteSize      *int64   `json:"byte_size,omitempty"`                 // bytes of the content
	ContentDigest string   `json:"content_digest,omitempty"`            // keyed digest of the content
	Markers       []string `json:"markers,omitempty" words:"LogMarker"` // properties of the content beyond the item type
}

func (*LogAppended) EventType() Type    { return TypeLogAppended }
func (f *LogAppended) RecordID() string { return f.LogItemID }
