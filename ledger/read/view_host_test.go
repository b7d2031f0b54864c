package read_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// TestWhatHostsSay checks columns and queries for the facts of a host about runs, grants,
// resources, scratchpads, items, budgets and calls. Values without a record stay unknown.
func TestWhatHostsSay(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "th", "t1", "run-root")
	rules := &schema.PressureRules{Name: "tight", Steps: []string{"trim_messages"}, HighWater: num(90)}
	c.add(&schema.ScopeOpened{RunID: "run-root", RootRunID: "run-root", ScopeKind: "agent", Depth: num(0), Tags: []string{"nightly"},
		InheritedTags: []string{"team-a"}, PressurePolicy: rules, ContextWrite: new(false)})
	grant := &schema.GrantIssued{Grant: schema.Grant{GrantID: "g1", Grants: []string{"app"}, Effective: []string{"app"}, Issuer: "host", Basis: refs("user:u1")}}
	grant.PolicyRefs = refs("policy:p1")
	c.add(grant)
	c.add(&schema.ResourceResolved{Resource: schema.Resource{BindingID: "resource:mail", Name: "mail", ResourceKind: "imap", DeclaredMode: "read",
		ConfigKeys: []string{"limit", "url"}, ConfigDigest: "hmac-sha256:k:00"}, Outcome: schema.ResourceUnresolved, Reason: "no provider"})
	c.add(&schema.ResourceResolved{Resource: schema.Resource{BindingID: "resource:memory", Name: "memory", ResourceKind: "memory", DeclaredMode: "read", EffectiveMode: "read", Tools: []string{"memory_read"}}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "topics", ContextKind: "memory", BindingID: "resource:memory", Pinned: true, Offers: refs("note-1")}})
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "note-1", ContextKind: "memory", Essential: true, OfferedBy: "topics", SourceRefs: []schema.SourceRef{
		{SourceID: "doc-1", Authority: "team", Selector: map[string]any{"type": "page", "page": 3}}, {URI: "file:///a"}}}})
	until := c.start.Add(time.Hour)
	c.add(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: "surface-1", AvailableItemRefs: refs("topics"), AvailableSourceRefs: refs("doc-1", "doc-2"),
		CapabilityRefs: refs("tool:search"), Visibility: []string{"model", "user"}, ExpiresAt: &until}})
	c.add(&schema.SurfaceCreated{Surface: schema.Surface{SurfaceID: "surface-2"}})
	c.add(&schema.AssemblyCreated{AssemblyID: "assembly-1", CallID: "call-1", Target: "model", WrappingPolicy: "policy:xml", SeparatorPolicy: "policy:lines", Visibility: []string{"model"},
		OrderedBlocks: []schema.Block{{Block: "b", Wrapper: "memory", ItemRefs: refs("topics")}}})
	c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i1", CallID: "call-1", Target: "model", ItemRefs: refs("topics"), BindingID: "resource:memory"}})
	c.add(&schema.ScratchpadLoaded{Scratchpad: schema.Scratchpad{ScratchpadID: "load-1", ContextIDs: []string{"notes"}, EntryCount: num(1), Tokens: num(4), ItemRefs: refs("pad-1")}})
	c.add(&schema.BudgetApplied{BudgetID: "b1", CallID: "call-1", Target: "model", PressurePolicy: rules})
	c.add(&schema.PressureApplied{PressureID: "p1", CallID: "call-1", Step: num(3), Name: "summarize_messages", Outcome: schema.OutcomeApplied, SummaryRef: "sum-1"})
	c.add(&schema.UsageRecorded{CallID: "call-1", Model: "m1", AnsweredModel: "m1-2026", Tags: []string{"draft"}})
	c.ids.ContextID = "ctx:t1"
	c.add(&schema.EnvelopeCreated{ContextID: "ctx:t1", Scope: "turn", Lifecycle: schema.LifecycleInjected, Tags: []string{"billing"}})
	c.in("s1", "th", "t2", "run-child")
	c.add(&schema.ScopeOpened{RunID: "run-child", ParentRunID: "run-root", RootRunID: "run-root", ScopeKind: "subagent", Depth: num(1), InheritedTags: []string{"team-a"}})
	c.add(&schema.ScratchpadLoaded{Scratchpad: schema.Scratchpad{ScratchpadID: "load-2"}})
	c.add(&schema.UsageRecorded{CallID: "call-2", Model: "m1"})
	l := c.write()

	for _, test := range []struct{ sql, want string }{
		{"SELECT pressure_policy, context_write FROM scope_records WHERE record_kind = 'run' ORDER BY record_id DESC",
			`[[{"name":"tight","steps":["trim_messages"],"high_water_percent":90} false] [ NULL]]`},
		{"SELECT basis, policy_refs FROM scope_records WHERE record_kind = 'grant_issued'", "[[[user:u1] [policy:p1]]]"},
		{"SELECT config_keys, config_digest FROM scope_records WHERE record_kind = 'resource_resolved' ORDER BY record_id", "[[[limit url] hmac-sha256:k:00] [[] ]]"},
		{"SELECT item_id, pinned, essential, binding_id, offers, offered_by FROM item_versions ORDER BY stream_seq",
			"[[topics true false resource:memory [note-1] ] [note-1 false true  [] topics]]"},
		{"SELECT source_ids, source_uris, source_selectors, source_authorities FROM item_versions WHERE item_id = 'note-1'",
			`[[[doc-1 ] [ file:///a] [{"page":3,"type":"page"} ] [team ]]]`},
		{"SELECT available_source_refs, capability_refs, visibility, toString(expires_at) FROM surfaces ORDER BY surface_id",
			"[[[doc-1 doc-2] [tool:search] [model user] 2026-11-20 09:00:00.000000000] [[] [] [] NULL]]"},
		{"SELECT wrapping_policy, separator_policy, block_wrappers FROM assemblies", "[[policy:xml policy:lines [memory]]]"},
		{"SELECT binding_id FROM injections", "[[resource:memory]]"},
		{"SELECT JSONExtractString(pressure_policy, 'name') FROM budgets", "[[tight]]"},
		{"SELECT summary_ref FROM pressure_steps", "[[sum-1]]"},
		{"SELECT call_id, tags, answered_model FROM model_calls ORDER BY call_id", "[[call-1 [draft] m1-2026] [call-2 [] ]]"},
		{"SELECT tags FROM scope_records WHERE record_kind = 'envelope'", "[[[billing]]]"},
	} {
		if got := fmt.Sprint(rows(t, l, test.sql, nil)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.sql, got, test.want)
		}
	}
	tagged := func(tag string) map[string]string { return map[string]string{"tag": tag} }
	for _, test := range []struct {
		query   string
		give    map[string]string
		columns string
		want    []string
	}{
		{"resources", nil, "resource_name outcome reason declared_mode effective_mode tools config_keys items", []string{
			"memory resolved  read read [memory_read] [] 1", "mail unresolved no provider read  [] [limit url] 0"}},
		{"scratchpads", nil, "scratchpad_id item_refs context_write", []string{"load-2 [] NULL", "load-1 [pad-1] false"}},
		{"run-tree", nil, "run_id tags inherited_tags", []string{"run-root [nightly] [team-a]", "run-child [] [team-a]"}},
		{"run-tree", tagged("nightly"), "run_id", []string{"run-root"}},
		{"run-tree", tagged("team-a"), "run_id", []string{"run-root", "run-child"}},
		{"model-usage", tagged("draft"), "calls", []string{"1"}},
		{"model-usage", tagged("billing"), "calls", []string{"1"}},
		{"model-usage", tagged("nightly"), "calls", []string{"1"}},
		{"model-usage", tagged("team-a"), "calls", []string{"2"}},
		{"model-usage", tagged("none"), "calls", nil},
		{"model-usage", nil, "calls", []string{"2"}},
	} {
		var got []string
		for _, row := range named(t, l, test.query, test.give, strings.Fields(test.columns)...) {
			got = append(got, strings.Join(row, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %v:\n got %q\nwant %q", test.query, test.give, got, test.want)
		}
	}
}
