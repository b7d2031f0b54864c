package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// memory is a resource whose tools need three different modes.
func memory(mode grant.Mode) producer.Resource {
	return producer.Resource{Name: "memory", Mode: mode, Tools: []producer.Tool{
		{Name: "read", Mode: grant.Read}, {Name: "write", Mode: grant.ReadWrite}, {Name: "undeclared"}, {Name: "strange", Mode: "admin"},
	}}
}

// A reviewer may read its parent's memory and never write it, for any mode in its own
// manifest.
func ExampleRunContext_Access() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{
		Session: "s_42", MaxDepth: 1, Grants: grant.Set{"app/user/u_1"},
		Resources: []producer.Resource{{Name: "memory", Mode: grant.Read}},
	})
	child, _ := run.Child(ctx, producer.Child{Resources: []producer.Resource{{
		Name: "memory", Mode: grant.ReadWrite, Tools: []producer.Tool{{Name: "read", Mode: grant.Read}, {Name: "write", Mode: grant.ReadWrite}},
	}}})
	binding, _ := child.Binding("memory")
	fmt.Println(binding.Declared, "became", binding.Effective, "with", binding.Tools)

	access := producer.Access{Resource: "memory", Operation: "write", Mode: grant.ReadWrite, Path: "app/user/u_1/notes"}
	err := child.Access(ctx, access)
	fmt.Println(errors.Is(err, producer.ErrAccess), err)
	fmt.Println("recorded as allowed:", producertest.Facts[*schema.ResourceAccessed](rec.Events())[0].Allowed)
	// Output:
	// read-write became read with [memory_read]
	// true access denied: write of memory at "app/user/u_1/notes", by the rule "mode"
	// recorded as allowed: false
}

// TestToolsAreThoseOfTheMode: a tool that the mode does not allow has no name.
func TestToolsAreThoseOfTheMode(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	for mode, want := range map[grant.Mode][]string{
		"": {"memory_read"}, grant.Read: {"memory_read"}, grant.ReadWrite: {"memory_read", "memory_write", "memory_undeclared"},
	} {
		run := opened(t, client, producer.Run{ID: "run" + string(mode), Session: "s", Resources: []producer.Resource{memory(mode)}})
		b, ok := run.Binding("memory")
		if !ok || !slices.Equal(b.Tools, want) || b.Kind != "memory" {
			t.Errorf("%q: %+v", mode, b)
		}
		f := producertest.One[*schema.ResourceResolved](t, rec.Events().Run("run"+string(mode)))
		if !slices.Equal(f.Tools, want) || f.DeclaredMode != string(b.Declared) || f.EffectiveMode != string(b.Effective) {
			t.Errorf("%q is recorded as %+v", mode, f)
		}
	}
	run := opened(t, client, producer.Run{Session: "s", Resources: []producer.Resource{{Name: "product-docs", Tools: []producer.Tool{{Name: "search", Mode: grant.Read}}}}})
	if b, _ := run.Binding("product-docs"); !slices.Equal(b.Tools, []string{"product_docs_search"}) {
		t.Errorf("%v", b.Tools)
	}
	if _, ok := run.Binding("memory"); ok {
		t.Error("a resource of another run")
	}
}

// TestModesPassThroughRunsThatDoNotDeclare: the mode of a grandparent limits a grandchild.
// Of several resources of a kind, the strictest counts.
func TestModesPassThroughRunsThatDoNotDeclare(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	root := opened(t, client, producer.Run{Session: "s", MaxDepth: 2, Resources: []producer.Resource{
		{Name: "mine", Kind: "memory", Mode: grant.ReadWrite}, {Name: "ours", Kind: "memory", Mode: grant.Read}, {Name: "files", Mode: grant.ReadWrite},
	}})
	middle, err := root.Child(t.Context(), producer.Child{})
	if err != nil {
		t.Fatal(err)
	}
	last, err := middle.Child(t.Context(), producer.Child{Resources: []producer.Resource{
		{Name: "other", Kind: "memory", Mode: grant.ReadWrite}, {Name: "files", Mode: grant.ReadWrite}, {Name: "mail", Mode: grant.ReadWrite},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]grant.Mode{"other": grant.Read, "files": grant.ReadWrite, "mail": grant.ReadWrite} {
		if b, _ := last.Binding(name); b.Effective != want {
			t.Errorf("%s is %s", name, b.Effective)
		}
	}
	if b, _ := root.Binding("mine"); b.Effective != grant.ReadWrite {
		t.Errorf("a resource is clamped by its own run: %s", b.Effective)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	guard, err := redact.New(redact.Withhold("hunter2-correct-horse", "policy:test", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Guard = guard })
	run := opened(t, client, producer.Run{ID: "r", Session: "s", Grants: grant.Set{"app/a", "app/b"}, Resources: []producer.Resource{memory(grant.Read)}})
	turn := run.Turn("t1", producer.Model{Name: "gpt-4o"})
	for name, c := range map[string]struct {
		access  producer.Access
		rule    string
		matched string
	}{
		"reading":                {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/b/x"}, "", "app/b"},
		"the grant itself":       {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/a"}, "", "app/a"},
		"writing":                {producer.Access{Resource: "memory", Mode: grant.ReadWrite, Path: "app/a"}, "mode", ""},
		"no mode":                {producer.Access{Resource: "memory", Path: "app/a"}, "mode", ""},
		"an unknown mode":        {producer.Access{Resource: "memory", Mode: "admin", Path: "app/a"}, "mode", ""},
		"another namespace":      {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/c"}, "grant", ""},
		"above":                  {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app"}, "grant", ""},
		"a longer name":          {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/ab"}, "grant", ""},
		"a way around":           {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/a/../c"}, "grammar", ""},
		"no path":                {producer.Access{Resource: "memory", Mode: grant.Read}, "grammar", ""},
		"bytes that are no text": {producer.Access{Resource: "memory", Mode: grant.Read, Path: "app/a/\xff"}, "grammar", ""},
		"a secret":               {producer.Access{Resource: "memory", Mode: grant.Read, Path: "x/hunter2-correct-horse"}, "grant", ""},
		"not declared":           {producer.Access{Resource: "files", Mode: grant.Read, Path: "app/a"}, "not_declared", ""},
	} {
		c.access.Operation, c.access.ToolCall = name, "toolu_1"
		err := turn.Access(t.Context(), c.access)
		var denied *producer.AccessError
		if errors.As(err, &denied) != (c.rule != "") || c.rule != "" && denied.Rule != c.rule || c.rule == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2-correct-horse") {
			t.Errorf("%s: the error holds a secret", name)
		}
		last := rec.Events()[len(rec.Events())-1]
		f, ok := last.Fact.(*schema.ResourceAccessed)
		if !ok || f.Operation != name || f.Allowed != (c.rule == "") || f.MatchedGrant != c.matched || last.ToolCallID != "toolu_1" || last.TurnID != "t1" {
			t.Errorf("%s is recorded as %+v", name, last.Fact)
		}
		if ok && c.rule != "" && f.Metadata["rule"] != c.rule {
			t.Errorf("%s: rule %v", name, f.Metadata)
		}
	}
	before := len(rec.Events())
	if err := turn.Access(t.Context(), producer.Access{Resource: "memory"}); !errors.Is(err, producer.ErrInvalid) || len(rec.Events()) != before {
		t.Errorf("no operation: %v", err)
	}
	rec.Fail(publish.ErrQueueFull)
	if err := run.Access(t.Context(), producer.Access{Resource: "memory", Operation: "read", Mode: grant.Read, Path: "app/a"}); !errors.Is(err, publish.ErrQueueFull) {
		t.Errorf("allowed, and not recorded: %v", err)
	}
	err = run.Access(t.Context(), producer.Access{Resource: "memory", Operation: "read", Mode: grant.Read, Path: "app/c"})
	if !errors.Is(err, publish.ErrQueueFull) || !errors.Is(err, producer.ErrAccess) {
		t.Errorf("denied, and not recorded: %v", err)
	}
	rec.Fail(nil)
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := turn.Access(t.Context(), producer.Access{Resource: "memory", Operation: "read"}); !errors.Is(err, producer.ErrSealed) {
		t.Errorf("after the seal: %v", err)
	}
}

// TestUnresolvedResource: a declaration without a provider is a fact with its reason. The
// declaration limits no child, and access to the resource is denied by a separate rule.
func TestUnresolvedResource(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Grants: grant.Set{"app"}, Resources: []producer.Resource{
		{Name: "mail", Kind: "imap", Mode: grant.Read, Unresolved: "no provider is registered", Tools: []producer.Tool{{Name: "read", Mode: grant.Read}}},
	}})
	f := producertest.One[*schema.ResourceResolved](t, rec.Events())
	if f.Outcome != schema.ResourceUnresolved || f.Reason != "no provider is registered" || f.EffectiveMode != "" || len(f.Tools) != 0 || f.DeclaredMode != "read" {
		t.Errorf("%+v", f)
	}
	var denied *producer.AccessError
	if err := run.Access(t.Context(), producer.Access{Resource: "mail", Operation: "read", Mode: grant.Read, Path: "app"}); !errors.As(err, &denied) || denied.Rule != "unresolved" {
		t.Errorf("%v", err)
	}
	child, err := run.Child(t.Context(), producer.Child{Resources: []producer.Resource{{Name: "mail", Kind: "imap", Mode: grant.ReadWrite}}})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := child.Binding("mail"); b.Effective != grant.ReadWrite {
		t.Errorf("the child has %q: nobody above had the resource", b.Effective)
	}
	if f := producertest.Facts[*schema.ResourceResolved](rec.Events())[1]; f.Outcome != "" || f.Reason != "" {
		t.Errorf("%+v", f)
	}
}

// TestResourceConfig: facts hold the names of a configuration's members and a digest. No
// value leaves the process.
func TestResourceConfig(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
	for _, config := range []map[string]any{{"url": "imap://internal.example", "limit": 3}, {"limit": 3, "url": "imap://internal.example"}, {"limit": 4, "url": "imap://internal.example"}, nil} {
		opened(t, client, producer.Run{Session: "s", Resources: []producer.Resource{{Name: "mail", Config: config}}})
	}
	facts := producertest.Facts[*schema.ResourceResolved](rec.Events())
	if !slices.Equal(facts[0].ConfigKeys, []string{"limit", "url"}) || !strings.HasPrefix(facts[0].ConfigDigest, "hmac-sha256:") {
		t.Errorf("%+v", facts[0])
	}
	if facts[0].ConfigDigest != facts[1].ConfigDigest || facts[0].ConfigDigest == facts[2].ConfigDigest {
		t.Error("the digest does not follow the configuration")
	}
	if facts[3].ConfigKeys != nil || facts[3].ConfigDigest != "" {
		t.Errorf("no configuration is %+v", facts[3])
	}
	for _, e := range rec.Events() {
		if strings.Contains(string(e.Data), "internal.example") {
			t.Errorf("%s has a value", e.Type)
		}
	}
	if _, err := client.Open(t.Context(), producer.Run{Session: "s", Resources: []producer.Resource{{Name: "mail", Config: map[string]any{"f": func() {}}}}}); err == nil {
		t.Error("a function is taken as configuration")
	}
}

// TestProviderOfContent: content of a provider names its resource.
func TestProviderOfContent(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{ID: "r", Session: "s", Resources: []producer.Resource{{Name: "memory"}}})
	turn := run.Turn("t", producer.Model{Name: "gpt-4o"})
	user, err := turn.Add(t.Context(), producer.Content{ID: "u", Role: "user", Kind: window.KindMessage, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	topics := producer.Content{ID: "topics", Text: "topics: billing, travel", Resource: "memory"}
	head := window.NewHead(window.AtOnce).UserMessage("u")
	if _, _, err := turn.Call("c").InjectHead(t.Context(), []window.Item{user}, head, "topics", topics); err != nil {
		t.Fatal(err)
	}
	items, injected := producertest.Facts[*schema.ItemAdded](rec.Events()), producertest.One[*schema.InjectionApplied](t, rec.Events())
	if items[0].BindingID != "" || items[1].BindingID != "resource:r:memory" || injected.BindingID != "resource:r:memory" {
		t.Errorf("%q, %q, %q", items[0].BindingID, items[1].BindingID, injected.BindingID)
	}
	var refused *producer.InvalidError
	if _, err := turn.Add(t.Context(), producer.Content{ID: "x", Text: "x", Resource: "mail"}); !errors.As(err, &refused) {
		t.Errorf("a resource that the run does not declare: %v", err)
	}
}

// TestBasisOfGrants: a grant names the authenticated facts that it was minted from.
func TestBasisOfGrants(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	opened(t, client, producer.Run{Session: "s", Grants: grant.Set{"app/user/u_1"}, Basis: producer.Basis{Facts: []string{"user:u_1", "tenant:acme"}, PolicyRefs: []string{"policy:grants"}}})
	f := producertest.One[*schema.GrantIssued](t, rec.Events())
	if !slices.Equal(f.Basis, schema.Refs("user:u_1", "tenant:acme")) || !slices.Equal(f.PolicyRefs, schema.Refs("policy:grants")) {
		t.Errorf("%+v", f)
	}
	if _, err := client.Open(t.Context(), producer.Run{Session: "s", Basis: producer.Basis{Facts: []string{"user:u_1"}}}); err == nil {
		t.Error("a basis of no grants is taken")
	}
}
