package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// tinyCase is a case of shared/vectors/tinyagents.json.
type tinyCase struct {
	ID, Group     string
	Input, Expect json.RawMessage
}

// tiny lists the cases about runs, limits, usage and exposure. Package window runs the
// cases about the window, redact those about redaction, and ledger/read those about prices.
var tiny = map[string]func(*testing.T, tinyCase){
	"T001": tinyDefaults, "T002": tinyRoundTrip, "T006": tinyChild, "T007": tinyThreads, "T008": tinyRunIDs, "T009": tinyRunIDs,
	"T010": tinyDepth, "T011": tinyLifecycle, "T012": tinyReuse, "T013": tinyCancelled, "T015": tinyParentStays, "T016": tinyTighten,
	"T023": tinyUsage, "T024": tinyUsage, "T025": tinyUsage, "T044": tinyBudget, "T045": tinyOversized, "T046": tinyReleased,
	"T053": tinyExposure, "T054": tinyFiltered,
}

func TestTinyAgents(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "tinyagents.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []tinyCase }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ours := []string{"run_config", "child_config", "lineage", "no_mutation", "limits", "usage", "budget", "exposure"}
	played := 0
	for _, c := range file.Cases {
		if !slices.Contains(ours, c.Group) {
			continue
		}
		play := tiny[c.ID]
		if play == nil {
			t.Errorf("%s has no test", c.ID)
			continue
		}
		played++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			play(t, c)
		})
	}
	if played != len(tiny) {
		t.Errorf("%d cases were played of %d", played, len(tiny))
	}
}

func tinyRead[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func scopes(rec *producertest.Recorder) []*schema.ScopeOpened {
	return producertest.Facts[*schema.ScopeOpened](rec.Events())
}

// tinyDefaults: fields that were not set are absent. Two expectations are refused on
// purpose: default numbers of calls, because limits belong to the runtime, and children
// below a root that allows none. The thread of a run is never absent, because its item log
// belongs to the thread.
func tinyDefaults(t *testing.T, c tinyCase) {
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{ID: tinyRead[struct{ New string }](t, c.Input).New, Session: "s"})
	want := tinyRead[struct {
		Tags     []string
		Metadata map[string]any
		Depth    int64
	}](t, c.Expect)
	f := scopes(rec)[0]
	if f.RunID != "run-1" || len(f.Tags) != len(want.Tags) || len(f.LocalMetadata) != len(want.Metadata) || *f.Depth != want.Depth {
		t.Errorf("%+v", f)
	}
	if len(run.Limits()) != 0 || *f.MaxDepth != 0 || f.ThreadID != "s" {
		t.Errorf("limits %v, depth %d, thread %q", run.Limits(), *f.MaxDepth, f.ThreadID)
	}
}

func tinyRoundTrip(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		RunID  string `json:"run_id"`
		Thread string
		Tags   []string
	}](t, c.Input)
	client, rec := producertest.New(t)
	opened(t, client, producer.Run{ID: in.RunID, Session: "s", Thread: in.Thread, Tags: in.Tags})
	first := scopes(rec)[0]
	var members map[string]any
	if err := json.Unmarshal(rec.Events()[0].Data, &members); err != nil {
		t.Fatal(err)
	}
	again, err := rec.Events()[0].Decode()
	if err != nil || !reflect.DeepEqual(again, schema.Fact(first)) {
		t.Errorf("%+v, %v", again, err)
	}
	if members["run_id"] != in.RunID || members["thread_id"] != in.Thread || members["limits"] != nil {
		t.Errorf("%v", members)
	}
}

// tinyChild: the seed differs in tags, metadata and limits, which a child inherits. The
// case's ids, depth and output limit hold.
func tinyChild(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		Parent struct {
			ThreadID string `json:"thread_id"`
			Tags     []string
			Metadata map[string]any
			Output   float64 `json:"max_turn_output_tokens"`
			MaxDepth int     `json:"max_depth"`
		}
		Child string `json:"child_run_id"`
	}](t, c.Input)
	want := tinyRead[struct {
		RunID    string  `json:"run_id"`
		ThreadID string  `json:"thread_id"`
		Output   float64 `json:"max_turn_output_tokens"`
		Depth    int64
		MaxDepth int64 `json:"max_depth"`
	}](t, c.Expect)
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{ // depth 1 there: the parent is a child here, too
		Session: "s", Thread: in.Parent.ThreadID, MaxDepth: in.Parent.MaxDepth, InheritedTags: in.Parent.Tags,
		InheritedMetadata: in.Parent.Metadata, Limits: producer.Limits{"max_turn_output_tokens": in.Parent.Output},
	})
	for _, id := range []string{"p", in.Child} {
		var err error
		if run, err = run.Child(t.Context(), producer.Child{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	f := scopes(rec)[2]
	if f.RunID != want.RunID || f.ThreadID != want.ThreadID || *f.Depth != want.Depth || *f.MaxDepth != want.MaxDepth || f.Limits["max_turn_output_tokens"] != want.Output {
		t.Errorf("%+v", f)
	}
	if len(f.Tags) != 0 || len(f.LocalMetadata) != 0 || !slices.Equal(f.InheritedTags, in.Parent.Tags) || !reflect.DeepEqual(f.InheritedMetadata, in.Parent.Metadata) {
		t.Errorf("local and inherited: %+v", f)
	}
}

// tinyThreads: a runtime that isolates its children sets their thread, and the fact names
// it.
func tinyThreads(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		Parent string `json:"parent_thread"`
		Calls  int
	}](t, c.Input)
	want := tinyRead[struct {
		Prefix   string `json:"child_thread_prefix"`
		Distinct bool
	}](t, c.Expect)
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", Thread: in.Parent, MaxDepth: 1})
	seen := make(map[string]bool)
	for i := range in.Calls {
		if _, err := run.Child(t.Context(), producer.Child{Thread: fmt.Sprint(want.Prefix, i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range scopes(rec)[1:] {
		seen[f.ThreadID] = true
		if !f.ThreadOverridden || f.ParentThreadID != in.Parent || !strings.HasPrefix(f.ThreadID, want.Prefix) || strings.Contains(f.ThreadID, "/") {
			t.Errorf("%+v", f)
		}
	}
	if len(seen) == in.Calls != want.Distinct {
		t.Errorf("threads %v", seen)
	}
}

// tinyRunIDs: ids are distinct. A runtime may choose a prefix with agent and depth. The
// fact has both, and a given id is kept.
func tinyRunIDs(t *testing.T, c tinyCase) {
	want := tinyRead[struct {
		Prefix   string `json:"run_id_prefix"`
		Distinct bool
	}](t, c.Expect)
	agent, _, _ := strings.Cut(want.Prefix, "-")
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1})
	seen := make(map[string]bool)
	for _, id := range []string{"", "", want.Prefix + "0"} {
		child, err := run.Child(t.Context(), producer.Child{ID: id, Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		seen[child.RunID()] = true
	}
	if len(seen) == 3 != want.Distinct || !seen[want.Prefix+"0"] {
		t.Errorf("%v", seen)
	}
	for i, e := range rec.Events() {
		if f, err := e.Decode(); err == nil {
			if f, ok := f.(*schema.ScopeOpened); ok && i > 0 && (*f.Depth != 1 || e.Correlation.Agent != agent) {
				t.Errorf("%+v of %q", f, e.Correlation.Agent)
			}
		}
	}
}

func tinyDepth(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		MaxDepth int `json:"max_depth"`
	}](t, c.Input)
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: in.MaxDepth})
	child, err := run.Child(t.Context(), producer.Child{})
	if err != nil || *scopes(rec)[1].Depth != 1 {
		t.Fatal(err)
	}
	if _, err := child.Child(t.Context(), producer.Child{}); !errors.Is(err, producer.ErrDepth) || !strings.Contains(err.Error(), fmt.Sprint(in.MaxDepth)) {
		t.Errorf("%v", err)
	}
}

// tinyLifecycle: the opening of a child is a fact with its name and depth. Refused on
// purpose: the end of a run is an event of the runtime, and not a fact about context.
func tinyLifecycle(t *testing.T, c tinyCase) {
	in := tinyRead[struct{ Agent string }](t, c.Input)
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1})
	if _, err := run.Child(t.Context(), producer.Child{Agent: in.Agent}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		kind, agent string
		depth       int64
	}{{"agent", "", 0}, {"subagent", in.Agent, 1}} {
		f, e := scopes(rec)[i], rec.Events()[i]
		if e.Type != schema.TypeScopeOpened.CloudEventsType() || f.ScopeKind != want.kind || e.Correlation.Agent != want.agent || *f.Depth != want.depth {
			t.Errorf("%s %+v of %q", e.Type, f, e.Correlation.Agent)
		}
	}
}

// tinyReuse: a second message to a child is a second turn in the same run. Refused on
// purpose: an event only for this.
func tinyReuse(t *testing.T, c tinyCase) {
	sends := tinyRead[struct{ Sends int }](t, c.Input).Sends
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1})
	child, err := run.Child(t.Context(), producer.Child{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sends {
		turn := child.Turn(fmt.Sprint("turn", i), producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 100}})
		if _, err := turn.Add(t.Context(), producer.Content{ID: fmt.Sprint("m", i), Kind: window.KindMessage, Role: "user", Text: "on"}); err != nil {
			t.Fatal(err)
		}
	}
	turns := make(map[string]bool)
	for _, e := range rec.Events() {
		if e.Correlation.RunID == child.RunID() && e.Correlation.TurnID != "" {
			turns[e.Correlation.TurnID] = true
		}
	}
	if len(scopes(rec)) != 2 || len(turns) != sends {
		t.Errorf("%d runs, turns %v", len(scopes(rec)), turns)
	}
}

func tinyCancelled(t *testing.T, _ tinyCase) {
	client, _ := producertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 2})
	child, err := run.Child(ctx, producer.Child{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := child.Child(ctx, producer.Child{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// tinyParentStays: a child with its own tags and metadata leaves its parent's bytes
// unchanged, and a sibling has none of them.
func tinyParentStays(t *testing.T, _ tinyCase) {
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, InheritedTags: []string{"a"}, InheritedMetadata: map[string]any{"k": []any{1.0}}})
	before := bytes.Clone(rec.Events()[0].Data)
	for _, own := range []producer.Child{{ID: "one", Tags: []string{"b"}, Metadata: map[string]any{"k": 2, "l": 3}}, {ID: "two"}} {
		if _, err := run.Child(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
	list := scopes(rec)
	if !bytes.Equal(rec.Events()[0].Data, before) || len(list[2].Tags) != 0 || len(list[2].LocalMetadata) != 0 {
		t.Errorf("%s, and a sibling with %+v", rec.Events()[0].Data, list[2])
	}
	if !slices.Equal(list[1].Tags, []string{"b"}) || len(list[1].LocalMetadata) != 2 || !reflect.DeepEqual(list[1].InheritedMetadata, list[2].InheritedMetadata) {
		t.Errorf("%+v", list[1])
	}
}

// tinyTighten: each case's result is the result for a child that requests no more than
// available. Refused on purpose: giving less than requested without an error.
func tinyTighten(t *testing.T, c tinyCase) {
	want := tinyRead[[][2]float64](t, c.Expect)
	for i, in := range tinyRead[[]struct{ Explicit, Policy [2]float64 }](t, c.Input) {
		named := func(n [2]float64) producer.Limits {
			return producer.Limits{"max_model_calls": n[0], "max_tool_calls": n[1]}
		}
		got, err := named(in.Policy).Narrow(named(in.Explicit))
		if in.Explicit[0] > in.Policy[0] || in.Explicit[1] > in.Policy[1] {
			if !errors.Is(err, producer.ErrWidened) {
				t.Errorf("%d: %v, %v", i, got, err)
			}
			got, err = named(in.Policy).Narrow(named([2]float64{min(in.Explicit[0], in.Policy[0]), min(in.Explicit[1], in.Policy[1])}))
		}
		if err != nil || !maps.Equal(got, named(want[i])) {
			t.Errorf("%d: %v, want %v: %v", i, got, want[i], err)
		}
	}
}

// tinyUsage: a total is the sum of the buckets and not a separate number that may
// contradict them. A total of 0 therefore cannot hide usage.
func tinyUsage(t *testing.T, c tinyCase) {
	type use struct{ Input, Output int64 }
	var list []use
	if json.Unmarshal(c.Input, &list) != nil {
		list = []use{tinyRead[use](t, c.Input)}
	}
	var want struct {
		Calls  int64
		Total  int64
		Tokens int64 `json:"total_tokens"`
	}
	if json.Unmarshal(c.Expect, &want) != nil {
		want.Total = tinyRead[int64](t, c.Expect)
	}
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	for i, u := range list {
		call := run.Turn("t", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 1000}}).Call(fmt.Sprint("c", i))
		plan, err := call.Fit(t.Context(), []window.Item{{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 4}}, window.DefaultPolicy(), nil)
		if err == nil {
			err = call.Usage(t.Context(), plan, schema.ProviderUsage{UncachedInput: &u.Input, Output: &u.Output})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got := run.Account.Spending()
	if total := *got.Usage.UncachedInput + *got.Usage.Output; total != want.Total+want.Tokens || want.Calls > 0 && got.Calls != want.Calls {
		t.Errorf("%d tokens in %d calls, want %+v", total, got.Calls, want)
	}
	if n := len(producertest.Facts[*schema.UsageRecorded](rec.Events())); n != len(list) {
		t.Errorf("%d facts", n)
	}
}

// tinyBudget: spending above the limit counts, and the next request is refused. The host
// makes the warning: Spending and Limits have both numbers. Refused on purpose: an error at
// the limit without a further request.
func tinyBudget(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		Max    float64 `json:"max_total"`
		Warn   float64 `json:"warn_fraction"`
		Spends [][2]float64
	}](t, c.Input)
	client, _ := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", Limits: producer.Limits{"tokens": in.Max}})
	spend := func(i int) error {
		t.Helper()
		r, err := run.Account.Reserve(producer.Limits{"tokens": 1})
		if err != nil {
			t.Fatalf("refused before spend %d: %v", i, err)
		}
		return r.Settle(producer.Limits{"tokens": in.Spends[i][0] + in.Spends[i][1]})
	}
	if err := spend(0); err != nil || run.Account.Spending().Spent["tokens"] < in.Warn*run.Limits()["tokens"] {
		t.Errorf("%v, %+v", err, run.Account.Spending())
	}
	if err := spend(1); !errors.Is(err, producer.ErrLimit) || run.Account.Spending().Spent["tokens"] != 13 {
		t.Errorf("%v, %+v", err, run.Account.Spending())
	}
	if _, err := run.Account.Reserve(producer.Limits{"tokens": 1}); !errors.Is(err, producer.ErrLimit) {
		t.Errorf("past the limit: %v", err)
	}
}

func tinyOversized(t *testing.T, c tinyCase) {
	most := tinyRead[struct {
		Max float64 `json:"max_input"`
	}](t, c.Input).Max
	client, _ := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", Limits: producer.Limits{"input": most}})
	if _, err := run.Account.Reserve(producer.Limits{"input": float64(window.EstimateChars(strings.Repeat("long ", 10)))}); !errors.Is(err, producer.ErrLimit) {
		t.Errorf("an oversized prompt: %v", err)
	}
	r, err := run.Account.Reserve(producer.Limits{"input": float64(window.EstimateChars("hi"))})
	if err != nil || run.Account.Spending().Reserved["input"] != 1 {
		t.Fatalf("%v, %+v", err, run.Account.Spending())
	}
	if err := r.Settle(producer.Limits{"input": 1}); err != nil || run.Account.Spending().Spent["input"] != 1 || len(run.Account.Spending().Reserved) != 0 {
		t.Errorf("%v, %+v", err, run.Account.Spending())
	}
}

// tinyReleased: an answer without usage and a failed call release their reservations. Two
// runs with one id have separate accounts.
func tinyReleased(t *testing.T, _ tinyCase) {
	client, _ := producertest.New(t)
	run := opened(t, client, producer.Run{ID: "r", Session: "s", Limits: producer.Limits{"tokens": 5}})
	again := opened(t, client, producer.Run{ID: "r", Session: "s", Limits: producer.Limits{"tokens": 5}})
	for range 3 {
		r, err := run.Account.Reserve(producer.Limits{"tokens": 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Account.Spending().Reserved) != 0 {
			t.Errorf("held by another run of the same id: %+v", again.Account.Spending())
		}
		r.Release()
	}
	if s := run.Account.Spending(); len(s.Reserved) != 0 || len(s.Spent) != 0 {
		t.Errorf("%+v", s)
	}
}

// tinyExposure: the child has the grants of both lists. Refused on purpose: reducing a
// request without an error. A request for more is denied, and the denial is a fact.
func tinyExposure(t *testing.T, c tinyCase) {
	in := tinyRead[struct {
		Allow []string `json:"parent_allow"`
		Deny  []string `json:"parent_deny"`
		Asked []string `json:"child_allow"`
	}](t, c.Input)
	held := slices.DeleteFunc(slices.Clone(in.Allow), func(tool string) bool { return slices.Contains(in.Deny, tool) })
	client, rec := producertest.New(t)
	grants, err := grant.Parse(held)
	if err != nil {
		t.Fatal(err)
	}
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Grants: grants})
	if _, err := run.Child(t.Context(), producer.Child{Grants: grant.Only(in.Asked...)}); err == nil {
		t.Error("a child got more than its parent")
	}
	if denied := producertest.Facts[*schema.GrantDenied](rec.Events()); len(denied) != 1 {
		t.Errorf("%d denials", len(denied))
	}
	want := tinyRead[[]string](t, c.Expect)
	child, err := run.Child(t.Context(), producer.Child{Grants: grant.Only(want...)})
	if err != nil || !slices.Equal(child.Grants().Strings(), want) {
		t.Errorf("%v", err)
	}
}

// tinyFiltered: a selection names each omitted tool, with the reason.
func tinyFiltered(t *testing.T, c tinyCase) {
	in := tinyRead[struct{ Allow, Deny, Tools []string }](t, c.Input)
	want := tinyRead[struct {
		Excluded  []string
		Remaining int
	}](t, c.Expect)
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	f := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "selection", SurfaceID: "tools", Candidates: schema.Refs(in.Tools...)}}
	for i, tool := range in.Tools {
		one := schema.Candidate{ItemRef: f.Candidates[i]}
		if slices.Contains(in.Allow, tool) && !slices.Contains(in.Deny, tool) {
			f.Selected = append(f.Selected, one)
		} else {
			one.Reason = schema.OmitPermissionMissing
			f.Omitted = append(f.Omitted, one)
		}
	}
	if err := run.Record(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	got := producertest.Facts[*schema.SelectionCompleted](rec.Events())[0]
	var excluded []schema.Ref
	for _, o := range got.Omitted {
		excluded = append(excluded, o.ItemRef)
	}
	if len(got.Selected) != want.Remaining || !reflect.DeepEqual(excluded, schema.Refs(want.Excluded...)) {
		t.Errorf("%+v", got)
	}
}
