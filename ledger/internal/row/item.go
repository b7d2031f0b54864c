package row

import "github.com/ctxledger/ctxledger/schema"

// Item is a row of the table items: one version of a context item.
type Item struct {
	Head
	Change          string   `ch:"change"`
	ItemID          string   `ch:"item_id"`
	ContextKind     string   `ch:"context_kind"`
	Title           string   `ch:"title"`
	ContentMode     string   `ch:"content_mode"`
	ContentRef      string   `ch:"content_ref"`
	ContentDigest   string   `ch:"content_digest"`
	MimeType        string   `ch:"mime_type"`
	Language        string   `ch:"language"`
	SourceURIs      []string `ch:"source_uris"`
	SourceKinds     []string `ch:"source_kinds"`
	SourceDigests   []string `ch:"source_digests"`
	TokenEstimate   *int64   `ch:"token_estimate"`
	Estimator       string   `ch:"estimator"`
	ByteSize        *int64   `ch:"byte_size"`
	TrustLevel      string   `ch:"trust_level"`
	Sensitivity     string   `ch:"sensitivity"`
	RedactionState  string   `ch:"redaction_state"`
	RedactionReason string   `ch:"redaction_reason"`
	PolicyRefs      []string `ch:"policy_refs"`
	Visibility      []string `ch:"visibility"`
	Priority        *float64 `ch:"priority"`
	Layer           string   `ch:"layer"`
	Role            string   `ch:"role"`
	Reason          string   `ch:"reason"` // of a removal
	Metadata        string   `ch:"metadata"`
	Pinned          bool     `ch:"pinned"`
	Essential       bool     `ch:"essential"`
	Extra           string   `ch:"extra"` // JSON of rare values of items
	Reads           string   `ch:"reads"`
	Parts           string   `ch:"parts"`
}

func NewItem(h Head, change string, c *schema.Common, i *schema.Item) Item {
	row := Item{
		Head: h, Change: change, ItemID: i.ItemID, ContextKind: i.ContextKind, Title: i.Title,
		ContentMode: string(i.ContentMode), ContentRef: i.ContentRef.ID(), ContentDigest: i.ContentDigest,
		MimeType: i.MimeType, Language: i.Language, TokenEstimate: i.TokenEstimate, Estimator: i.Estimator,
		ByteSize: i.ByteSize, TrustLevel: i.TrustLevel, Sensitivity: i.Sensitivity,
		RedactionState: string(i.RedactionState), RedactionReason: i.RedactionReason, PolicyRefs: schema.RefIDs(c.PolicyRefs),
		Visibility: i.Visibility, Priority: i.Priority, Layer: i.Layer, Role: i.Role, Metadata: JSONText(c.Metadata),
		Pinned: i.Pinned, Essential: i.Essential, Extra: itemExtra(i), Reads: i.Reads,
	}
	if len(i.Parts) > 0 {
		row.Parts = JSONText(i.Parts)
	}
	row.SourceURIs = each(i.SourceRefs, func(s *schema.SourceRef) string { return s.URI })
	row.SourceKinds = each(i.SourceRefs, func(s *schema.SourceRef) string { return s.SourceKind })
	row.SourceDigests = each(i.SourceRefs, func(s *schema.SourceRef) string { return s.Digest })
	return row
}

// itemExtra holds rare values of items. Of sources it has lists in parallel with their URIs,
// which are empty where no source has one; a selector is JSON.
func itemExtra(i *schema.Item) string {
	var e extra
	e.text("binding_id", i.BindingID)
	e.list("offers", schema.RefIDs(i.Offers))
	e.text("offered_by", i.OfferedBy.ID())
	e.list("source_ids", said(i.SourceRefs, func(s *schema.SourceRef) string { return s.SourceID }))
	e.list("source_selectors", said(i.SourceRefs, func(s *schema.SourceRef) string {
		if s.Selector == nil {
			return ""
		}
		return JSONText(s.Selector)
	}))
	e.list("source_authorities", said(i.SourceRefs, func(s *schema.SourceRef) string { return s.Authority }))
	return e.json()
}

// LogItem is a row of the table log_items.
type LogItem struct {
	Head
	LogItemID     string   `ch:"log_item_id"`
	LogID         string   `ch:"log_id"`
	Position      *int64   `ch:"position"`
	ItemType      string   `ch:"item_type"`
	Role          string   `ch:"role"`
	Name          string   `ch:"name"`
	CallID        string   `ch:"call_id"`
	Status        string   `ch:"status"`
	ItemRef       string   `ch:"item_ref"`
	ParentRef     string   `ch:"parent_ref"`
	Tokens        *int64   `ch:"tokens"`
	ByteSize      *int64   `ch:"byte_size"`
	ContentDigest string   `ch:"content_digest"`
	Metadata      string   `ch:"metadata"`
	Markers       []string `ch:"markers"`
}

func NewLogItem(h Head, f *schema.LogAppended) LogItem {
	return LogItem{
		Head: h, LogItemID: f.LogItemID, LogID: f.LogID, Position: f.Position, ItemType: f.ItemType, Role: f.Role,
		Name: f.Name, CallID: f.CallID, Status: f.Status, ItemRef: f.ItemRef.ID(), ParentRef: f.ParentRef.ID(),
		Tokens: f.Tokens, ByteSize: f.ByteSize, ContentDigest: f.ContentDigest, Metadata: JSONText(f.Metadata), Markers: f.Markers,
	}
}
