package producer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// factsOf decodes the stream's facts of one type.
func factsOf[F schema.Fact](t *testing.T, b *bustest.Bus) (list []F) {
	t.Helper()
	for _, e := range b.Events(t) {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := fact.(F); ok {
			list = append(list, f)
		}
	}
	return list
}

func open(t *testing.T, c *Client, r Run) *RunContext {
	t.Helper()
	run, err := c.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestNothingChangesARun changes all inputs and outputs of a run while children are opened.
// The race detector checks the accesses.
func TestNothingChangesARun(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	nested := map[string]any{"n": int64(1 << 60), "list": []any{"a"}}
	r := Run{
		Session: "s", Agent: "parent", MaxDepth: 2, Grants: grant.Set{"app/a", "app/b"}, InheritedTags: []string{"tag"},
		InheritedMetadata: map[string]any{"nested": nested},
	}
	run := open(t, client, r)
	grants, ids := run.Grants(), run.IDs
	var wait sync.WaitGroup
	wait.Go(func() { // the caller continues to use its own
		for i := range 200 {
			r.Grants[0], r.InheritedTags[0] = "stolen", "stolen"
			r.InheritedMetadata["nested"], r.InheritedMetadata["more"] = "stolen", i
			nested["n"], nested["list"].([]any)[0] = i, "stolen"
			run.Grants()[0] = "stolen"
		}
	})
	for i := range 8 {
		wait.Go(func() {
			tags, metadata := []string{"own"}, map[string]any{"own": []any{i}}
			asked := []string{"app/a/x"}
			child, err := run.Child(t.Context(), Child{Agent: "child", Thread: fmt.Sprint("th", i), Grants: grant.Only(asked...), Tags: tags, Metadata: metadata})
			if err != nil {
				t.Error(err)
				return
			}
			tags[0], metadata["own"].([]any)[0], asked[0], child.Grants()[0] = "stolen", "stolen", "stolen", "stolen"
			if _, err := child.Child(t.Context(), Child{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if !slices.Equal(run.Grants(), grants) || !reflect.DeepEqual(run.IDs, ids) {
		t.Errorf("the parent changed: %v %v", run.Grants(), run.IDs)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range factsOf[*schema.ScopeOpened](t, b) {
		want := map[string]any{"nested": map[string]any{"n": float64(1 << 60), "list": []any{"a"}}}
		if !reflect.DeepEqual(f.InheritedMetadata, want) || !slices.Equal(f.InheritedTags, []string{"tag"}) {
			t.Fatalf("%v %v", f.InheritedMetadata, f.InheritedTags)
		}
	}
}

func TestInheritance(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	run := open(t, client, Run{ID: "root", Session: "s", Thread: "th", Agent: "a", ResourceID: "u_1", MaxDepth: 2, Grants: grant.Set{"x/y"}})
	child, err := run.Child(t.Context(), Child{ID: "child"})
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := child.Child(t.Context(), Child{ID: "grandchild", Thread: "other", Agent: "b", Grants: grant.Only()})
	if err != nil {
		t.Fatal(err)
	}
	if want := (schema.Correlation{
		Agent: "b", ResourceID: "u_1", SessionID: "s", ThreadID: "other", RunID: "grandchild", ParentRunID: "child", RootRunID: "root",
	}); grandchild.IDs != want {
		t.Errorf("%+v", grandchild.IDs)
	}
	if len(grandchild.Grants()) != 0 || len(child.Grants()) != 1 {
		t.Errorf("%v %v", child.Grants(), grandchild.Grants())
	}
	for _, bad := range []struct {
		parent *RunContext
		child  Child
		want   error
	}{
		{grandchild, Child{}, ErrDepth},
		{child, Child{ID: "root"}, ErrCycle},
		{child, Child{ID: "child"}, ErrCycle},
		{child, Child{ID: "wide", Grants: grant.Only("x")}, grant.ErrInvalid},
		{child, Child{ID: "malformed", Grants: grant.Only("x/../y")}, grant.ErrInvalid},
	} {
		if run, err := bad.parent.Child(t.Context(), bad.child); !errors.Is(err, bad.want) || run != nil {
			t.Errorf("%+v: %v", bad.child, err)
		}
	}
	for _, bad := range []Run{{}, {Session: "s", MaxDepth: -1}, {Session: "s", Grants: grant.Set{"/x"}}, {Session: "s", InheritedMetadata: map[string]any{"f": func() {}}}} {
		if run, err := client.Open(t.Context(), bad); err == nil || run != nil {
			t.Errorf("%+v was opened", bad)
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	scopes := factsOf[*schema.ScopeOpened](t, b)
	if len(scopes) != 3 {
		t.Fatalf("%d scopes", len(scopes))
	}
	last := scopes[2]
	if *last.Depth != 2 || last.ParentThreadID != "th" || !last.ThreadOverridden || slices.Contains(last.InheritedFields, "thread_id") || slices.Contains(last.InheritedFields, "grants") {
		t.Errorf("%+v", last)
	}
	if first := scopes[1]; !slices.Contains(first.InheritedFields, "thread_id") || !slices.Contains(first.InheritedFields, "agent") || first.ThreadOverridden {
		t.Errorf("%+v", first)
	}
	denied := factsOf[*schema.GrantDenied](t, b)
	if len(denied) != 2 || denied[0].Rule != "narrow_only" || denied[1].Rule != "grammar" || denied[0].Code != grant.CodeInvalid {
		t.Errorf("%+v", denied)
	}
	if issued := factsOf[*schema.GrantIssued](t, b); len(issued) != 1 {
		t.Errorf("%d grants issued", len(issued))
	}
}

// TestGrantsOnlyNarrow: no chain of children reaches a path that its root does not reach.
func TestGrantsOnlyNarrow(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b, func(c *Config) { c.MaxQueued = 1 << 20 })
	path := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/bc", "b", "b/a", "a/b/c/d"})
	rapid.Check(t, func(rt *rapid.T) {
		root := grant.Set{}
		for _, p := range rapid.SliceOfN(path, 0, 3).Draw(rt, "root") {
			root = append(root, grant.Path(p))
		}
		run, err := client.Open(t.Context(), Run{Session: "s", MaxDepth: 6, Grants: root})
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "depth") {
			request := grant.Inherit()
			if rapid.Bool().Draw(rt, "narrow") {
				request = grant.Only(rapid.SliceOfN(path, 0, 2).Draw(rt, "asked")...)
			}
			child, err := run.Child(t.Context(), Child{Grants: request})
			if err != nil {
				continue
			}
			for _, g := range child.Grants() {
				if !run.Grants().Contains(g) || !root.Contains(g) {
					rt.Fatalf("%s is not within %s", g, run.Grants())
				}
			}
			run = child
		}
	})
}

// TestOneLogAThread: runs that share a thread share its numbering of entries, and refused
// entries leave no hole.
func TestOneLogAThread(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	run := open(t, client, Run{Session: "s", MaxDepth: 1})
	var wait sync.WaitGroup
	for i := range 4 {
		child, err := run.Child(t.Context(), Child{Thread: "shared"})
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			for j := range 20 {
				content := Content{ID: fmt.Sprintf("m%d-%d", i, j%15), Role: "user", Kind: window.KindMessage, Text: "x"} // some twice
				if j%5 == 0 {
					content.CallID, content.Role = "bad\x00", "user"
					content.ToolName = string([]byte{0xff}) // cannot be encoded
				}
				if _, err := child.Add(t.Context(), "gpt-4o", content); (err != nil) != (j%5 == 0) {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := factsOf[*schema.LogAppended](t, b)
	for i, entry := range log {
		if *entry.Position != int64(i) {
			t.Fatalf("entry %d has position %d", i, *entry.Position)
		}
	}
	if len(log) != 64 {
		t.Errorf("%d entries", len(log))
	}
	client.Forget("s")
	if client.log("s", "shared").position("m0-1") != nil || client.log("s", "shared").next != 64 {
		t.Error("Forget")
	}
}
