package producer_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestLocalTagsStayLocal: a run's own tags and metadata are in its fact and its scope, and
// in no child's. Inherited ones are in all of them.
//
// Source: seed 000 (inherited and local tags and metadata).
func TestLocalTagsStayLocal(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{
		ID: "root", Session: "s", Thread: "th", Agent: "a", MaxDepth: 3, Place: producer.Place{Task: "task-1"},
		Tags: []string{"own"}, InheritedTags: []string{"team"},
		Metadata: map[string]any{"ticket": 7}, InheritedMetadata: map[string]any{"region": "eu"},
	})
	child, err := run.Child(t.Context(), producer.Child{ID: "child", Thread: "other", Tags: []string{"helper"}, Metadata: map[string]any{"try": []int{1}}})
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := child.Child(t.Context(), producer.Child{ID: "grandchild"})
	if err != nil {
		t.Fatal(err)
	}
	region := map[string]any{"region": "eu"}
	facts := producertest.Facts[*schema.ScopeOpened](rec.Events())
	for i, c := range []struct {
		run  *producer.RunContext
		want producer.Scope
	}{
		{run, producer.Scope{
			Session: "s", Thread: "th", Run: "root", Root: "root", Agent: "a", Place: producer.Place{Task: "task-1"}, MaxDepth: 3,
			Tags: []string{"own"}, InheritedTags: []string{"team"}, Metadata: map[string]any{"ticket": 7.0}, InheritedMetadata: region,
		}},
		{child, producer.Scope{
			Session: "s", Thread: "other", ParentThread: "th", Run: "child", Parent: "root", Root: "root", Agent: "a", Place: producer.Place{Task: "task-1"},
			Depth: 1, MaxDepth: 3,
			Tags: []string{"helper"}, InheritedTags: []string{"team"}, Metadata: map[string]any{"try": []any{1.0}}, InheritedMetadata: region,
		}},
		{grandchild, producer.Scope{
			Session: "s", Thread: "other", ParentThread: "other", Run: "grandchild", Parent: "child", Root: "root", Agent: "a",
			Place: producer.Place{Task: "task-1"}, Depth: 2, MaxDepth: 3, InheritedTags: []string{"team"}, InheritedMetadata: region,
		}},
	} {
		got := c.run.Scope()
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, not\n%+v", c.want.Run, got, c.want)
		}
		f := facts[i]
		if !slices.Equal(f.Tags, c.want.Tags) || !slices.Equal(f.InheritedTags, c.want.InheritedTags) ||
			!reflect.DeepEqual(f.LocalMetadata, c.want.Metadata) || !reflect.DeepEqual(f.InheritedMetadata, region) {
			t.Errorf("the fact of %s has %v, %v, %v and %v", c.want.Run, f.Tags, f.InheritedTags, f.LocalMetadata, f.InheritedMetadata)
		}
	}
	if s := run.Scope(); len(s.Tags) > 0 {
		s.Tags[0], s.InheritedMetadata["region"] = "stolen", "stolen"
	}
	if s := run.Scope(); s.Tags[0] != "own" || s.InheritedMetadata["region"] != "eu" {
		t.Errorf("the scope shares memory: %+v", s)
	}
	if _, err := run.Child(t.Context(), producer.Child{Metadata: map[string]any{"bad": math.NaN()}}); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("metadata that JSON cannot hold: %v", err)
	}
}

// TestMalformedRequestIsDenied opens a child with requests from JSON null. For grants the
// refusal is recorded. For stores there is no child.
func TestMalformedRequestIsDenied(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Grants: grant.Set{"app/a"}, Stores: []string{"memory"}})
	var null grant.Request
	if err := null.UnmarshalJSON([]byte("null")); err == nil {
		t.Error("null was read")
	}
	if _, err := run.Child(t.Context(), producer.Child{Grants: null}); !errors.Is(err, grant.ErrInvalid) {
		t.Errorf("grants: %v", err)
	}
	if _, err := run.Child(t.Context(), producer.Child{Stores: null}); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("stores: %v", err)
	}
	f := producertest.One[*schema.GrantDenied](t, rec.Events())
	if f.Rule != "grammar" || f.Code != grant.CodeInvalid || f.Reason == "" || f.Requested != nil || len(f.Effective) != 0 {
		t.Errorf("%+v", f.Grant)
	}
}

// TestARunsFactsComeToOneSink: a run's fact describes the run. Facts of the run, a child, a
// turn and a call arrive at one sink in order, with the ids of their place.
//
// Source: seed 000 (responsibilities, core types, inheritance), seed 002 (namespace
// grants).
func TestARunsFactsComeToOneSink(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{
		ID: "root", Session: "s", Thread: "th", Agent: "a", ResourceID: "u_1", MaxDepth: 1,
		Grants: grant.Set{"app/a"}, Limits: producer.Limits{"max_steps": 10}, Stores: []string{"notes"},
	})
	child, err := run.Child(t.Context(), producer.Child{ID: "child"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Child(t.Context(), producer.Child{Limits: producer.Limits{"max_steps": 11}}); !errors.Is(err, producer.ErrWidened) {
		t.Errorf("a child with a higher limit: %v", err)
	}
	turn := child.Turn("t", producer.Model{Name: "gpt-4o"})
	if err := errors.Join(
		run.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}), child.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}),
		turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}), turn.Call("c").Usage(t.Context(), window.Plan{}, schema.ProviderUsage{}),
	); err != nil {
		t.Fatal(err)
	}
	events := rec.Events()
	for i, e := range events {
		if *e.Sequence != int64(i+1) {
			t.Errorf("%s has sequence %d, not %d", e.Type, *e.Sequence, i+1)
		}
	}
	if len(events) < 4 {
		t.Fatalf("%d events", len(events))
	}
	runtime := events[0].RuntimeID
	root := schema.Correlation{Tenant: events[0].Tenant, RuntimeID: runtime, Agent: "a", ResourceID: "u_1", SessionID: "s", ThreadID: "th", RunID: "root", RootRunID: "root"}
	below := root
	below.RunID, below.ParentRunID = "child", "root"
	during := below
	during.TurnID, during.ContextID = "t", "ctx:t"
	for i, want := range []schema.Correlation{root, below, during, during} {
		if got := events[len(events)-4+i].Correlation; got != want || runtime == "" {
			t.Errorf("fact %d: %+v, not %+v", i, got, want)
		}
	}
	for _, f := range producertest.Facts[*schema.ScopeOpened](events) {
		if !reflect.DeepEqual(f.Limits, map[string]any{"max_steps": 10.0}) || !slices.Equal(f.Stores, []string{"notes"}) {
			t.Errorf("%s has limits %v and stores %v", f.RunID, f.Limits, f.Stores)
		}
	}
	issued := producertest.One[*schema.GrantIssued](t, events)
	if !slices.Equal(issued.Effective, []string{"app/a"}) || issued.Issuer != runtime {
		t.Errorf("%+v", issued.Grant)
	}
}
