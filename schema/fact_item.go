package schema

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Surface is what was available to choose from.
type Surface struct {
	SurfaceID           string     `json:"surface_id" ctx:"required"`
	Scope               string     `json:"scope,omitempty"`
	SurfaceKind         string     `json:"surface_kind,omitempty"`
	AvailableItemRefs   []Ref      `json:"available_item_refs,omitempty"`
	AvailableSourceRefs []Ref      `json:"available_source_refs,omitempty"`
	CapabilityRefs      []Ref      `json:"capability_refs,omitempty"`
	Visibility          []string   `json:"visibility,omitempty"`
	ExpiresAt           *time.Time `json:"expires_at,omitempty"`
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
	SourceID         string           `json:"source_id,omitempty"`
	URI              string           `json:"uri,omitzero"`
	SourceKind       string           `json:"source_kind,omitempty"`
	Selector         any              `json:"selector,omitzero"`
	Digest           string           `json:"digest,omitempty"`
	Authority        string           `json:"authority,omitempty"`
	ExternalMappings []map[string]any `json:"external_mappings,omitempty"`
	RetrievedAt      *time.Time       `json:"retrieved_at,omitempty"`
	ModifiedAt       *time.Time       `json:"modified_at,omitempty"`
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
	if text := token.String(); strings.Contains(text, ":") {
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
	ItemID          string         `json:"item_id" ctx:"required"`
	ContextKind     string         `json:"context_kind,omitempty"`
	Title           string         `json:"title,omitempty"`
	ContentMode     ContentMode    `json:"content_mode,omitempty"`
	Content         any            `json:"content,omitzero"`
	ContentRef      Ref            `json:"content_ref,omitzero"`
	ContentDigest   string         `json:"content_digest,omitempty"`
	MimeType        string         `json:"mime_type,omitempty"`
	Language        string         `json:"language,omitempty"`
	SourceRefs      []SourceRef    `json:"source_refs,omitempty"`
	TokenEstimate   *int64         `json:"token_estimate,omitempty"`
	Estimator       string         `json:"estimator,omitempty"` // what counted the tokens
	ByteSize        *int64         `json:"byte_size,omitempty"`
	Freshness       any            `json:"freshness,omitzero"`
	TrustLevel      string         `json:"trust_level,omitempty"`
	Sensitivity     string         `json:"sensitivity,omitempty"`
	RedactionState  RedactionState `json:"redaction_state,omitempty"`
	RedactionReason string         `json:"redaction_reason,omitempty"`
	Visibility      []string       `json:"visibility,omitempty"`
	Priority        *float64       `json:"priority,omitempty"`
	Layer           string         `json:"layer,omitempty"` // what fills the window: system, user, tool_results, …
	Role            string         `json:"role,omitempty"`
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
	ItemID string `json:"item_id" ctx:"required"`
	Reason string `json:"reason,omitempty"`
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
	LogItemID     string `json:"log_item_id" ctx:"required"`
	LogID         string `json:"log_id,omitempty"` // default: the thread
	Position      *int64 `json:"position,omitempty"`
	ItemType      string `json:"item_type" ctx:"required"`
	Role          string `json:"role,omitempty"`
	Name          string `json:"name,omitempty"` // of the function
	ToolCallID    string `json:"tool_call_id,omitempty"`
	CallID        string `json:"call_id,omitempty"`
	Status        string `json:"status,omitempty"` // in_progress, completed, incomplete
	ItemRef       Ref    `json:"item_ref,omitzero"`
	ParentRef     Ref    `json:"parent_ref,omitzero"` // the entry that this one follows
	Tokens        *int64 `json:"tokens,omitempty"`
	ByteSize      *int64 `json:"byte_size,omitempty"`
	ContentDigest string `json:"content_digest,omitempty"`
}

func (*LogAppended) EventType() Type    { return TypeLogAppended }
func (f *LogAppended) RecordID() string { return f.LogItemID }
