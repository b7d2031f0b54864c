package producer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

func opened(t testing.TB, client *producer.Client, r producer.Run) *producer.RunContext {
	t.Helper()
	run, err := client.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// having returns the rights of a run in one comparable text.
func having(run *producer.RunContext, resources ...string) string {
	s := fmt.Sprint(run.Grants(), run.Limits(), run.Stores())
	for _, name := range resources {
		b, ok := run.Binding(name)
		s += fmt.Sprint(b, ok)
	}
	return s
}

// TestAChildCannotChangeItsParent opens many children concurrently and changes all inputs
// and outputs. The race detector checks the accesses.
func TestAChildCannotChangeItsParent(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	r := producer.Run{
		Session: "s", MaxDepth: 2, Grants: grant.Set{"app/a"}, Limits: producer.Limits{"max_steps": 10}, Stores: []string{"notes", "cache"},
		Resources:        []producer.Resource{{Name: "memory", Mode: grant.ReadWrite, Tools: []producer.Tool{{Name: "read", Mode: grant.Read}}}},
		ConfigurableKeys: []string{"editor"}, InheritedTags: []string{"tag"},
	}
	run := opened(t, client, r)
	before := having(run, "memory")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			asked := producer.Child{
				Limits: producer.Limits{"max_steps": float64(i)}, Stores: grant.Only("notes"), ConfigurableKeys: []string{"theme"},
				Resources: []producer.Resource{{Name: "memory", Tools: []producer.Tool{{Name: "read", Mode: grant.Read}}}},
			}
			child, err := run.Child(t.Context(), asked)
			if err != nil {
				t.Error(err)
				return
			}
			own := having(child, "memory")
			asked.Limits["max_steps"], asked.Resources[0].Name, asked.Resources[0].Tools[0].Name, asked.ConfigurableKeys[0] = 99, "stolen", "stolen", "stolen"
			for _, out := range []*producer.RunContext{run, child} {
				out.Grants()[0], out.Limits()["max_steps"], out.Stores()[0] = "stolen", 99, "stolen"
				b, _ := out.Binding("memory")
				b.Tools[0] = "stolen"
			}
			if got := having(child, "memory"); got != own {
				t.Errorf("the child is %s, and was %s", got, own)
			}
		})
	}
	wait.Go(func() { // the caller continues to use its own
		r.Grants[0], r.Limits["max_steps"], r.Stores[0], r.Resources[0].Tools[0].Name, r.ConfigurableKeys[0] = "stolen", 99, "stolen", "stolen", "stolen"
	})
	wait.Wait()
	if got := having(run, "memory"); got != before {
		t.Errorf("the parent is %s, and was %s", got, before)
	}
	for _, f := range producertest.Facts[*schema.ScopeOpened](rec.Events())[1:] {
		if !slices.Equal(f.ConfigurableKeys, []string{"editor", "theme"}) || !slices.Equal(f.InheritedTags, []string{"tag"}) {
			t.Errorf("%v %v", f.ConfigurableKeys, f.InheritedTags)
		}
	}
}

// TestNoSequenceOfChildrenWidens follows random chains of children: every run has at most
// the rights of every run above it.
func TestNoSequenceOfChildrenWidens(t *testing.T) {
	t.Parallel()
	paths := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/bc", "b", "b/a"}), 0, 3)
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3)
	limits := rapid.MapOfN(rapid.SampledFrom([]string{"steps", "cost"}), rapid.Float64Range(0, 4), 0, 2)
	declared := rapid.Custom(func(t *rapid.T) (list []producer.Resource) {
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"memory", "files"}), 0, 3).Draw(t, "kinds") {
			list = append(list, producer.Resource{Name: fmt.Sprint("r", i), Kind: kind, Mode: rapid.SampledFrom([]grant.Mode{"", grant.Read, grant.ReadWrite}).Draw(t, "mode")})
		}
		return list
	})
	request := rapid.Custom(func(t *rapid.T) (list *[]string) {
		if rapid.Bool().Draw(t, "listed") {
			list = new(names.Draw(t, "names"))
		}
		return list
	})
	rapid.Check(t, func(rt *rapid.T) {
		client, _ := producertest.New(t)
		root := producer.Run{Session: "s", MaxDepth: 5, Limits: limits.Draw(rt, "limits"), Stores: names.Draw(rt, "stores"), Resources: declared.Draw(rt, "resources")}
		for _, p := range paths.Draw(rt, "grants") {
			root.Grants = append(root.Grants, grant.Path(p))
		}
		run := opened(t, client, root)
		readOnly := map[string]bool{} // kinds with read mode in a run above
		note := func(resources []producer.Resource) {
			for _, d := range resources {
				if b, _ := run.Binding(d.Name); b.Effective == grant.Read {
					readOnly[b.Kind] = true
				}
			}
		}
		note(root.Resources)
		for range rapid.IntRange(1, 5).Draw(rt, "depth") {
			c := producer.Child{Limits: limits.Draw(rt, "limits"), Stores: grant.Requested(request.Draw(rt, "stores")), Resources: declared.Draw(rt, "resources")}
			if rapid.Bool().Draw(rt, "grants listed") {
				c.Grants = grant.Only(paths.Draw(rt, "grants")...)
			}
			child, err := run.Child(t.Context(), c)
			if err != nil {
				if child != nil || !errors.Is(err, producer.ErrWidened) && !errors.Is(err, grant.ErrInvalid) {
					rt.Fatalf("%v, %v", child, err)
				}
				continue
			}
			checkWithin(rt, run, child)
			for _, d := range c.Resources {
				if b, _ := child.Binding(d.Name); readOnly[b.Kind] && b.Effective != grant.Read {
					rt.Fatalf("%s is %s below a run that has it read-only", b.Kind, b.Effective)
				}
			}
			run = child
			note(c.Resources)
		}
	})
}

func checkWithin(t *rapid.T, parent, child *producer.RunContext) {
	for _, g := range child.Grants() {
		if !parent.Grants().Contains(g) {
			t.Fatalf("the child reaches %s, the parent %v", g, parent.Grants())
		}
	}
	for name, limit := range parent.Limits() {
		if own, limited := child.Limits()[name]; !limited || own > limit {
			t.Fatalf("%s is %v for the child and %v for the parent", name, child.Limits()[name], limit)
		}
	}
	for _, store := range child.Stores() {
		if !slices.Contains(parent.Stores(), store) {
			t.Fatalf("the child has the store %s, the parent %v", store, parent.Stores())
		}
	}
}

// TestRefusedRunsRecordNothing: each refusal is a typed error without a run and without a
// fact. Only a denied request for grants is a fact.
func TestRefusedRunsRecordNothing(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t, func(c *producer.Config) {
		c.GrantPolicy.Protected = []grant.Protected{{Namespace: "app/users"}}
	})
	run := opened(t, client, producer.Run{ID: "root", Session: "s", MaxDepth: 2, Grants: grant.Set{"app/users/u_1", "app/docs"}, Limits: producer.Limits{"cost": 5}, Stores: []string{"notes"}})
	child, err := run.Child(t.Context(), producer.Child{ID: "child"})
	if err != nil {
		t.Fatal(err)
	}
	below, err := child.Child(t.Context(), producer.Child{ID: "below"})
	if err != nil {
		t.Fatal(err)
	}
	before := len(rec.Events())
	unwritable := map[string]any{"f": func() {}}
	for i, r := range []producer.Run{
		{}, {Session: "s", MaxDepth: -1}, {Session: "s", Limits: producer.Limits{"a": -1}}, {Session: "s", Limits: producer.Limits{"a": math.NaN()}},
		{Session: "s", Limits: producer.Limits{"a": math.Inf(1)}}, {Session: "s", Limits: producer.Limits{"": 1}}, {Session: "s", InheritedMetadata: unwritable},
		{Session: "s", Resources: []producer.Resource{{}}}, {Session: "s", Resources: []producer.Resource{{Name: "m", Mode: "write"}}},
		{Session: "s", Resources: []producer.Resource{{Name: "m"}, {Name: "m"}}}, {Session: "s", Resources: []producer.Resource{{Name: "1m"}}},
	} {
		if run, err := client.Open(t.Context(), r); !errors.Is(err, producer.ErrInvalid) || run != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
	for _, g := range []grant.Path{"/x", "app/users", "app"} {
		if run, err := client.Open(t.Context(), producer.Run{Session: "s", Grants: grant.Set{g}}); !errors.Is(err, grant.ErrInvalid) || run != nil {
			t.Errorf("grant %s: %v", g, err)
		}
	}
	var violations schema.Violations
	if run, err := client.Open(t.Context(), producer.Run{Session: "s", Grants: grant.Set{"app/docs"}, Metadata: map[string]any{"run_completed": true}, Limits: producer.Limits{"task_status": 1}}); !errors.As(err, &violations) || run != nil {
		t.Errorf("a run that declares a status: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user went away")
	cancel(cause)
	for name, c := range map[string]struct {
		parent *producer.RunContext
		ctx    context.Context
		child  producer.Child
		want   error
	}{
		"depth":           {below, t.Context(), producer.Child{}, producer.ErrDepth},
		"itself":          {child, t.Context(), producer.Child{ID: "child"}, producer.ErrCycle},
		"its root":        {child, t.Context(), producer.Child{ID: "root"}, producer.ErrCycle},
		"a higher limit":  {child, t.Context(), producer.Child{Limits: producer.Limits{"cost": 6}}, producer.ErrWidened},
		"no limit at all": {child, t.Context(), producer.Child{Limits: producer.Limits{"cost": math.NaN()}}, producer.ErrInvalid},
		"another store":   {child, t.Context(), producer.Child{Stores: grant.Only("notes", "mail")}, producer.ErrWidened},
		"a bad resource":  {child, t.Context(), producer.Child{Resources: []producer.Resource{{Name: "a b"}}}, producer.ErrInvalid},
		"an ended parent": {child, ended, producer.Child{}, cause},
	} {
		if run, err := c.parent.Child(c.ctx, c.child); !errors.Is(err, c.want) || run != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Open(ended, producer.Run{Session: "s"}); !errors.Is(err, cause) {
		t.Errorf("an ended context: %v", err)
	}
	if err := errors.Join(run.Record(t.Context()), client.Err()); err != nil {
		t.Error(err)
	}
	if err := run.Record(t.Context(), nil); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("a nil fact: %v", err)
	}
	if n := len(rec.Events()); n != before {
		t.Errorf("%d facts of refused runs: %v", n-before, rec.Events()[before:])
	}
	rules := map[string]string{"app": "protected_namespace", "x/../y": "grammar", "other": "narrow_only"}
	for path := range maps.Keys(rules) {
		if _, err := run.Child(t.Context(), producer.Child{ID: "denied " + path, Grants: grant.Only(path)}); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
	denied := producertest.Facts[*schema.GrantDenied](rec.Events()[before:])
	for _, f := range denied {
		if want := rules[(*f.Requested)[0]]; f.Rule != want || f.Code != grant.CodeInvalid {
			t.Errorf("%v was denied by %s, not %s", *f.Requested, f.Rule, want)
		}
	}
	if len(denied) != len(rules) || len(rec.Events()) != before+len(rules) {
		t.Errorf("%d denials in %d facts", len(denied), len(rec.Events())-before)
	}
}

// TestCancellationGoesDown: a child's work ends with its parent's if the child's context
// derives from the parent's. The parent does not end with the child. Facts are recorded in
// both cases.
func TestCancellationGoesDown(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	parent, endParent := context.WithCancel(t.Context())
	run, err := client.Open(parent, producer.Run{Session: "s", MaxDepth: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, endChild := context.WithCancel(parent)
	child, err := run.Child(ctx, producer.Child{})
	if err != nil {
		t.Fatal(err)
	}
	endChild()
	if _, err := run.Child(parent, producer.Child{}); err != nil {
		t.Errorf("a sibling of an ended child: %v", err)
	}
	endParent()
	if _, err := run.Child(parent, producer.Child{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a child of an ended run: %v", err)
	}
	before := len(rec.Events())
	if err := errors.Join(run.Record(parent, &schema.ItemRemoved{ItemID: "i"}), child.Record(ctx, &schema.ItemRemoved{ItemID: "i"})); err != nil {
		t.Error(err)
	}
	if n := len(rec.Events()) - before; n != 2 {
		t.Errorf("%d facts after the end", n)
	}
}

// TestScopeSaysWhatWasInherited checks the name of each field, and the absence of
// configurable values.
func TestScopeSaysWhatWasInherited(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{
		ID: "root", Session: "s", MaxDepth: 1, Limits: producer.Limits{"max_steps": 10, producer.LimitWindow: 50}, Stores: []string{"notes", "notes", "cache"},
		ConfigurableKeys: []string{"editor"},
	})
	if _, err := run.Child(t.Context(), producer.Child{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Child(t.Context(), producer.Child{ID: "b", Limits: producer.Limits{"max_steps": 3, "cost": 1}, Stores: grant.Only(), ConfigurableKeys: []string{"theme", "editor"}}); err != nil {
		t.Fatal(err)
	}
	scopes := producertest.Facts[*schema.ScopeOpened](rec.Events())
	for i, want := range []struct {
		limits    map[string]any
		stores    []string
		keys      []string
		inherited []string
	}{
		{map[string]any{"max_steps": 10.0, producer.LimitWindow: 50.0}, []string{"notes", "cache"}, []string{"editor"}, nil},
		{map[string]any{"max_steps": 10.0, producer.LimitWindow: 50.0}, []string{"notes", "cache"}, []string{"editor"}, []string{"limits", "stores", "configurable_keys"}},
		{map[string]any{"max_steps": 3.0, producer.LimitWindow: 50.0, "cost": 1.0}, nil, []string{"editor", "theme"}, []string{"limits", "configurable_keys"}},
	} {
		f := scopes[i]
		if !maps.Equal(f.Limits, want.limits) || !slices.Equal(f.Stores, want.stores) || !slices.Equal(f.ConfigurableKeys, want.keys) {
			t.Errorf("%s: %v %v %v", f.RunID, f.Limits, f.Stores, f.ConfigurableKeys)
		}
		for _, name := range []string{"limits", "stores", "configurable_keys"} {
			if slices.Contains(f.InheritedFields, name) != slices.Contains(want.inherited, name) {
				t.Errorf("%s inherits %v", f.RunID, f.InheritedFields)
			}
		}
	}
	call := run.Turn("t", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 400_000, ReservedOutput: 10}}).Call("c")
	plan, err := call.Fit(t.Context(), []window.Item{{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 40}}, window.DefaultPolicy(), nil)
	if err != nil || plan.Limit != 40 {
		t.Errorf("the window's limit is %d: %v", plan.Limit, err)
	}
}
