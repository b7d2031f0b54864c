package row

import "github.com/ctxledger/ctxledger/schema"

// Scope is a row of the table scopes: a run context, a grant, a resource,
// a scratchpad or an envelope.
type Scope struct {
	Head
	RecordKind        string   `ch:"record_kind"`
	RecordID          string   `ch:"record_id"`
	ScopeKind         string   `ch:"scope_kind"`
	ParentThreadID    string   `ch:"parent_thread_id"`
	ThreadOverridden  bool     `ch:"thread_overridden"`
	Depth             *int64   `ch:"depth"`
	MaxDepth          *int64   `ch:"max_depth"`
	Tags              []string `ch:"tags"`
	InheritedTags     []string `ch:"inherited_tags"`
	LocalMetadata     string   `ch:"local_metadata"`
	InheritedMetadata string   `ch:"inherited_metadata"`
	ConfigurableKeys  []string `ch:"configurable_keys"`
	Limits            string   `ch:"limits"`
	Stores            []string `ch:"stores"`
	InheritedFields   []string `ch:"inherited_fields"`
	Program           string   `ch:"program"`
	Grants            []string `ch:"grants"`
	Requested         []string `ch:"requested"`
	RequestedGiven    bool     `ch:"requested_given"` // tells an empty request from none
	Effective         []string `ch:"effective"`
	Inherited         bool     `ch:"inherited"`
	Issuer            string   `ch:"issuer"`
	Rule              string   `ch:"rule"`
	Code              string   `ch:"code"`
	Reason            string   `ch:"reason"`
	ResourceName      string   `ch:"resource_name"`
	ResourceKind      string   `ch:"resource_kind"`
	DeclaredMode      string   `ch:"declared_mode"`
	EffectiveMode     string   `ch:"effective_mode"`
	Tools             []string `ch:"tools"`
	Operation         string   `ch:"operation"`
	Path              string   `ch:"path"`
	MatchedGrant      string   `ch:"matched_grant"`
	Allowed           *bool    `ch:"allowed"`
	ContextIDs        []string `ch:"context_ids"`
	EntryCount        *int64   `ch:"entry_count"`
	Tokens            *int64   `ch:"tokens"`
	Lifecycle         string   `ch:"lifecycle"`
	SealSources       []string `ch:"seal_sources"`
	SealFirst         []*int64 `ch:"seal_first"`
	SealLast          []*int64 `ch:"seal_last"`
	Metadata          string   `ch:"metadata"`
	PressurePolicy    string   `ch:"pressure_policy"`
	ContextWrite      *bool    `ch:"context_write"`
	Basis             []string `ch:"basis"`
	PolicyRefs        []string `ch:"policy_refs"`
	ConfigKeys        []string `ch:"config_keys"`
	ConfigDigest      string   `ch:"config_digest"`
	Outcome           string   `ch:"outcome"`
	ItemRefs          []string `ch:"item_refs"`
}

func Run(h Head, f *schema.ScopeOpened) Scope {
	return Scope{
		Head: h, RecordKind: "run", RecordID: f.RunID, ScopeKind: f.ScopeKind,
		ParentThreadID: f.ParentThreadID, ThreadOverridden: f.ThreadOverridden, Depth: f.Depth, MaxDepth: f.MaxDepth,
		Tags: f.Tags, InheritedTags: f.InheritedTags,
		LocalMetadata: JSONText(f.LocalMetadata), InheritedMetadata: JSONText(f.InheritedMetadata),
		ConfigurableKeys: f.ConfigurableKeys, Limits: JSONText(f.Limits), Stores: f.Stores,
		InheritedFields: f.InheritedFields, Program: f.Program, Metadata: JSONText(f.Metadata),
		PressurePolicy: rules(f.PressurePolicy), ContextWrite: f.ContextWrite,
	}
}

func Grant(h Head, verb string, c *schema.Common, g *schema.Grant) Scope {
	row := Scope{
		Head: h, RecordKind: "grant_" + verb, RecordID: g.GrantID, Grants: g.Grants, Effective: g.Effective,
		Inherited: g.Inherited, Issuer: g.Issuer, Rule: g.Rule, Code: g.Code, Reason: g.Reason, Metadata: JSONText(c.Metadata),
		Basis: schema.RefIDs(g.Basis), PolicyRefs: schema.RefIDs(c.PolicyRefs),
	}
	if g.Requested != nil {
		row.Requested, row.RequestedGiven = *g.Requested, true
	}
	return row
}

func Resolved(h Head, f *schema.ResourceResolved) Scope {
	row := resource(h, "resolved", &f.Common, &f.Resource)
	row.Outcome, row.Reason = string(f.Outcome), f.Reason
	return row
}

func resource(h Head, verb string, c *schema.Common, r *schema.Resource) Scope {
	return Scope{
		Head: h, RecordKind: "resource_" + verb, RecordID: r.BindingID, ResourceName: r.Name, ResourceKind: r.ResourceKind,
		DeclaredMode: r.DeclaredMode, EffectiveMode: r.EffectiveMode, Tools: r.Tools, Metadata: JSONText(c.Metadata),
		ConfigKeys: r.ConfigKeys, ConfigDigest: r.ConfigDigest,
	}
}

func Access(h Head, f *schema.ResourceAccessed) Scope {
	row := resource(h, "accessed", &f.Common, &f.Resource)
	row.Operation, row.Path, row.MatchedGrant, row.Allowed = f.Operation, f.Path, f.MatchedGrant, &f.Allowed
	return row
}

func Scratchpad(h Head, verb string, c *schema.Common, s *schema.Scratchpad) Scope {
	return Scope{
		Head: h, RecordKind: "scratchpad_" + verb, RecordID: s.ScratchpadID, ContextIDs: s.ContextIDs,
		EntryCount: s.EntryCount, Tokens: s.Tokens, ItemRefs: schema.RefIDs(s.ItemRefs), Metadata: JSONText(c.Metadata),
	}
}

func Envelope(h Head, f *schema.EnvelopeCreated) Scope {
	row := Scope{
		Head: h, RecordKind: "envelope", RecordID: f.ContextID, ScopeKind: f.Scope, Lifecycle: string(f.Lifecycle), Tags: f.Tags,
		Metadata: JSONText(f.Metadata),
	}
	for _, s := range f.Sequences {
		for _, r := range s.Ranges {
			row.SealSources = append(row.SealSources, s.Source)
			row.SealFirst = append(row.SealFirst, &r[0])
			row.SealLast = append(row.SealLast, &r[1])
		}
	}
	return row
}
