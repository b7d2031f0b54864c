package sdk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// decisions are the decisions of a runtime, read by a program of each language.
type decisions struct {
	Runtime, Session, Run, Agent, Resource, Task, Attempt, Program string
	Model                                                          struct {
		Name     string
		Max      int `json:"max_tokens"`
		Reserved int `json:"reserved_output"`
	}
	Withheld struct {
		Value, Reason string
		Policy        string `json:"policy_ref"`
	}
	Turns []struct {
		ID    string
		Steps []step
	}
}

type step struct {
	Do, ID, Kind, Role, Layer, Title, Text, Name, Query, Intent, Rationale, Point, Call, Fail string
	ContextKind                                                                               string `json:"context_kind"`
	ToolCallID                                                                                string `json:"tool_call_id"`
	CallID                                                                                    string `json:"call_id"`
	Candidates, Window, Source                                                                []string
	Refs                                                                                      []schema.Ref
	Usage                                                                                     schema.ProviderUsage
	Summary                                                                                   struct {
		ID, Text      string
		CallID        string   `json:"call_id"`
		LossNotes     []string `json:"loss_notes"`
		OpenQuestions []string `json:"open_questions"`
	}
}

// goDecides records the decisions with the Go SDK. Its planner finds the sizes, the omissions
// and the steps of the ladder, which the other languages read from the file.
type goDecides struct {
	t     *testing.T
	turn  *producer.Turn
	items map[string]window.Item
	gap   *producer.Gap
}

func decide(t *testing.T, bus *bustest.Bus, text []byte) {
	t.Helper()
	d := decode[decisions](t, text)
	ring, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	config := producer.DefaultConfig(bus.NC)
	config.Runtime, config.Key = d.Runtime, ring.Current()
	if config.Guard, err = redact.New(redact.Withhold(d.Withheld.Value, d.Withheld.Policy, d.Withheld.Reason)); err != nil {
		t.Fatal(err)
	}
	client, err := producer.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	run, err := client.Open(t.Context(), producer.Run{
		ID: d.Run, Session: d.Session, Agent: d.Agent, ResourceID: d.Resource, Program: d.Program, Place: producer.Place{Task: d.Task, Attempt: d.Attempt},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &goDecides{t: t, items: make(map[string]window.Item)}
	for _, turn := range d.Turns {
		g.turn = run.Turn(turn.ID, producer.Model{Name: d.Model.Name, Window: window.Budget{MaxTokens: d.Model.Max, ReservedOutput: d.Model.Reserved}})
		for _, s := range turn.Steps {
			g.take(s, text)
		}
		if _, err := g.turn.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (g *goDecides) check(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *goDecides) of(ids []string) (list []window.Item) {
	for _, id := range ids {
		list = append(list, g.items[id])
	}
	return list
}

func (g *goDecides) take(s step, file []byte) {
	g.t.Helper()
	ctx := g.t.Context()
	switch s.Do {
	case "add":
		item, err := g.turn.Add(ctx, producer.Content{
			ID: s.ID, Kind: window.Kind(s.Kind), Role: s.Role, Layer: s.Layer, ContextKind: s.ContextKind, Title: s.Title, Text: s.Text,
			ToolName: s.Name, ToolCallID: s.ToolCallID, CallID: s.CallID,
		})
		g.check(err)
		g.items[s.ID] = item
	case "missing":
		gap, err := g.turn.Missing(ctx, schema.Missing{
			MissingID: "gap-1", Scope: "turn", CallID: "call-1", Question: "Where is docs/retry.md?", NeededFor: "the limits", Severity: "medium",
			RequestedFrom: "user", RequestedAction: "send the file", UserSummary: "A file is missing.",
		})
		g.check(err)
		g.gap = gap
	case "resolve":
		g.check(g.gap.Resolve(ctx, s.Refs...))
	case "call":
		call := g.turn.Call(s.ID)
		call.Selection = producer.Selection{Query: s.Query, Intent: s.Intent, Rationale: s.Rationale}
		plan, err := call.Fit(ctx, g.of(s.Candidates), window.DefaultPolicy(), nil)
		g.check(err)
		asm, err := call.Assemble(ctx, plan)
		g.check(err)
		g.check(call.Inject(ctx, asm, schema.InjectionPoint(s.Point)))
		g.check(call.Usage(ctx, plan, s.Usage))
	case "compact":
		open, err := g.turn.Call(s.Call).Compact(ctx, producer.Compaction{Window: g.of(s.Window), Source: s.Source})
		g.check(err)
		if s.Fail != "" {
			g.check(open.Fail(ctx, s.Fail))
			return
		}
		after, err := open.Complete(ctx, producer.Summary{
			Content:   producer.Content{ID: s.Summary.ID, Text: s.Summary.Text, CallID: s.Summary.CallID},
			LossNotes: s.Summary.LossNotes, OpenQuestions: s.Summary.OpenQuestions,
		})
		g.check(err)
		for _, item := range after {
			g.items[item.ID] = item
		}
	default:
		g.t.Fatalf("the file has the step %q: %s", s.Do, file)
	}
}

// facts are the facts of a stream without ids of events, times and the name of the source.
func factsOf(t *testing.T, bus *bustest.Bus) (list []string) {
	t.Helper()
	for _, e := range bus.Events(t) {
		var data map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(e.Data), e.Source, "SOURCE")), &data); err != nil {
			t.Fatal(err)
		}
		delete(data, "gap_seconds")
		e.Tenant = "" // the subject has it
		text, err := json.MarshalIndent(map[string]any{
			"type": e.Type, "subject": e.Subject, "schema": e.DataSchema, "content": e.DataContentType, "ids": e.Correlation, "partition": e.PartitionKey,
			"sequence": e.Sequence, "data": data,
		}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// TestDecisionsGiveTheSameFacts records the decisions of one file with Go over NATS, and with
// the other SDKs over HTTP, and compares fact by fact.
func TestDecisionsGiveTheSameFacts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "decisions.json"))
	if err != nil {
		t.Fatal(err)
	}
	checkDecisions(t, text, 40)
}

// TestLargeDecisionsGiveTheSameFacts is the same for a window of 500 items with long ids, whose
// surface, selection and assembly need several events, and whose compactions leave long lists out.
func TestLargeDecisionsGiveTheSameFacts(t *testing.T) {
	t.Parallel()
	var steps, candidates []any
	for i := range 500 {
		id := fmt.Sprintf("item \"%d\" ünicode %s", i, strings.Repeat("x", 150))
		candidates = append(candidates, id)
		steps = append(steps, map[string]any{
			"do": "add", "id": id, "kind": "message", "role": "user", "layer": "user", "context_kind": "message", "text": "one", "tokens": 1,
		})
	}
	steps = append(steps, map[string]any{
		"do": "call", "id": "call-1", "candidates": candidates, "query": "q", "intent": "answer", "pressure_policy": map[string]any{"name": "pressure_ladder"},
		"point": "message_history", "usage": map[string]any{"output_tokens": 1},
	})
	for i, source := range []int{3, 300} { // many in the tail, and many in the source
		summary := map[string]any{"id": fmt.Sprintf("summary-%d", i), "text": "short", "tokens": 1, "call_id": fmt.Sprintf("writer-%d", i)}
		steps = append(steps, map[string]any{
			"do": "compact", "call": fmt.Sprintf("compact-%d", i), "window": candidates, "source": candidates[:source], "summary": summary,
		}, map[string]any{
			"do": "compact", "call": fmt.Sprintf("failed-%d", i), "window": candidates, "source": candidates[:source], "fail": "it hung",
		})
	}
	text := largeDecisions(t, "d-2", map[string]any{"id": "turn-1", "steps": steps})
	checkDecisions(t, text, 1000+2*3+2*7)
}

// checkDecisions records decisions with Go, which gives at least so many facts. The facts of the other
// languages must be equal.
func checkDecisions(t *testing.T, text []byte, least int) {
	t.Helper()
	bus := bustest.Start(t)
	decide(t, bus, text)
	want := factsOf(t, bus)
	if len(want) < least {
		t.Errorf("Go recorded only %d facts", len(want))
	}
	each(t, func(t *testing.T, l language) {
		bus, server := start(t)
		if out := l.run(t, string(text), "decisions", server.URL, keyText); string(out) != "0 refused\n" {
			t.Errorf("%s", out)
		}
		got := factsOf(t, bus)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) {
				t.Fatalf("%d facts, not %d", len(got), len(want))
			}
			if got[i] != want[i] {
				t.Errorf("fact %d: %s", i+1, difference(got[i], want[i]))
			}
		}
	})
	if slices.ContainsFunc(want, func(fact string) bool { return strings.Contains(fact, "Größe/") }) {
		t.Error("a fact has the withheld value")
	}
}

// difference returns the lines that only one text has.
func difference(got, want string) string {
	var b strings.Builder
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	b.WriteString(w[max(0, len(w)-2)])
	for _, line := range g {
		if !slices.Contains(w, line) {
			b.WriteString("\n  has   " + strings.TrimSpace(line))
		}
	}
	for _, line := range w {
		if !slices.Contains(g, line) {
			b.WriteString("\n  wants " + strings.TrimSpace(line))
		}
	}
	return b.String()
}
