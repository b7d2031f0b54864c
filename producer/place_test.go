package producer_test

import (
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPlaces: every fact of a run, a child, a turn, a call and a gap has the ids of its
// place in the work. A place below another task or attempt inherits no ids of it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	next := 0
	carries := func(of string, want producer.Place) {
		t.Helper()
		events := rec.Events()[next:]
		if len(events) == 0 {
			t.Errorf("%s: no facts", of)
		}
		for _, e := range events {
			c := e.Correlation
			if got := (producer.Place{Task: c.TaskID, Attempt: c.AttemptID, Step: c.StepID, ToolCall: c.ToolCallID, Action: c.ActionID}); got != want {
				t.Errorf("%s: %s has %+v, want %+v", of, e.Type, got, want)
			}
		}
		next += len(events)
	}
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 3, Place: producer.Place{Task: "task", Attempt: "1"}})
	carries("run", producer.Place{Task: "task", Attempt: "1"})

	turn := run.Turn("t", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 1000}})
	step := turn.In(producer.Place{Step: "plan"})
	item, err := step.Add(t.Context(), producer.Content{ID: "i", Kind: window.KindMessage, Role: "user", Text: "on"})
	if err != nil {
		t.Fatal(err)
	}
	call := step.In(producer.Place{ToolCall: "tool-1"}).Call("c")
	carries("step", producer.Place{Task: "task", Attempt: "1", Step: "plan"})
	plan, err := call.Fit(t.Context(), []window.Item{item}, window.DefaultPolicy(), nil)
	if err == nil {
		err = call.Usage(t.Context(), plan, schema.ProviderUsage{})
	}
	if err != nil {
		t.Fatal(err)
	}
	carries("call of a tool", producer.Place{Task: "task", Attempt: "1", Step: "plan", ToolCall: "tool-1"})

	gap, err := step.In(producer.Place{Action: "ask"}).Missing(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	carries("gap", producer.Place{Task: "task", Attempt: "1", Step: "plan", Action: "ask"})
	if _, err := step.Add(t.Context(), producer.Content{ID: "i", Kind: window.KindMessage, Role: "user", Text: "on"}); err == nil {
		t.Error("a view of the turn adds an item of it again")
	}
	receipt, err := step.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	carries("seal", producer.Place{Task: "task", Attempt: "1"})
	if n := receipt.Sequences[0][1] - receipt.Sequences[0][0] + 1; len(receipt.Sequences) != 1 || n != int64(next-1) {
		t.Errorf("the seal covers %v of %d facts", receipt.Sequences, next)
	}
	if err := turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}); err == nil {
		t.Error("the seal of a view leaves its turn open")
	}
	if err := gap.Resolve(t.Context(), "doc"); err != nil {
		t.Fatal(err)
	}
	carries("gap after the seal", producer.Place{Task: "task", Attempt: "1", Step: "plan", Action: "ask"})

	child, err := run.Child(t.Context(), producer.Child{Place: producer.Place{Step: "delegate", ToolCall: "tool-2"}})
	if err != nil {
		t.Fatal(err)
	}
	carries("child", producer.Place{Task: "task", Attempt: "1", Step: "delegate", ToolCall: "tool-2"})
	if _, err := child.Child(t.Context(), producer.Child{Place: producer.Place{Attempt: "2"}}); err != nil {
		t.Fatal(err)
	}
	carries("second attempt", producer.Place{Task: "task", Attempt: "2"})
	if _, err := child.Child(t.Context(), producer.Child{Place: producer.Place{Task: "other"}}); err != nil {
		t.Fatal(err)
	}
	carries("other task", producer.Place{Task: "other"})
	if got := scopes(rec)[1].InheritedFields; !slices.Contains(got, "task_id") || !slices.Contains(got, "attempt_id") {
		t.Errorf("inherited fields %v", got)
	}
}

// TestAWrongPlaceIsRefused: an id that no event can hold opens no run.
func TestAWrongPlaceIsRefused(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	for _, p := range []producer.Place{{Task: "a\x00b"}, {Attempt: string(make([]byte, 5000))}} {
		if _, err := client.Open(t.Context(), producer.Run{Session: "s", Place: p}); err == nil {
			t.Errorf("%.20q was taken", p)
		}
	}
	if n := len(rec.Events()); n != 0 {
		t.Errorf("%d facts", n)
	}
}
