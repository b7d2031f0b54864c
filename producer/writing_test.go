package producer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

var oldTalk = window.Policy{Steps: []window.Step{window.SummarizeMessages}}

// pressed returns a turn whose conversation does not fit into its window.
func pressed(t *testing.T, client *producer.Client) (*producer.Turn, []window.Item) {
	t.Helper()
	run, err := client.Open(t.Context(), producer.Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("turn-1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	big := strings.Repeat("one two three four five ", 40)
	return turn, add(t, turn, nil, say("u1", "user", big), say("a1", "assistant", big), say("u2", "user", "Go on."))
}

// TestSummaryPutsStateBack: a summary that the ladder asks for may put system state back
// (seed 004, l. 220).
func TestSummaryPutsStateBack(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn, items := pressed(t, client)
	todo := add(t, turn, nil, producer.Content{ID: "todo", Layer: "todo", Role: "system", Kind: window.KindRetrieved, Text: "- orders first"})[0]
	call := turn.Call("c")
	plan, err := call.FitWithSummary(t.Context(), items, oldTalk, producer.Compaction{}, func(context.Context, []window.Item) (producer.Summary, error) {
		return producer.Summary{Content: producer.Content{ID: "summary", Text: "They counted."}, Reinjected: []window.Reinjected{{Kind: "todo", Item: todo}}}, nil
	}, nil)
	if err != nil || !slices.Equal(ids(plan.Window), []string{"summary", "todo", "u2"}) || int64(plan.TokensAfter) != sizes(plan.Window) {
		t.Fatalf("%v, %d tokens, %v", ids(plan.Window), plan.TokensAfter, err)
	}
	if !slices.Equal(plan.Selected(), []string{"u2"}) {
		t.Errorf("selected %v", plan.Selected())
	}
	if _, err := call.Assemble(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	events := rec.Events()
	done := producertest.One[*schema.CompactionCompleted](t, events)
	if len(done.Reinjected) != 1 || done.Reinjected[0].Kind != "todo" || done.Reinjected[0].Ref != "todo" || *done.TokensAfter != sizes(plan.Window) {
		t.Errorf("%+v", done)
	}
	if failed := producertest.Facts[*schema.CompactionFailed](events); len(failed) > 0 {
		t.Errorf("%+v", failed)
	}
	if asm := producertest.One[*schema.AssemblyCreated](t, events); !slices.Contains(schema.RefIDs(asm.SourceItemRefs), "todo") {
		t.Errorf("%+v", asm.SourceItemRefs)
	}
}

// TestSummaryPutsNoCandidateBack: a candidate already has an outcome, so a summary cannot
// put it back.
func TestSummaryPutsNoCandidateBack(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]func(items []window.Item) window.Reinjected{
		"a candidate": func(items []window.Item) window.Reinjected { return window.Reinjected{Kind: "todo", Item: items[2]} },
		"the model's words": func([]window.Item) window.Reinjected {
			return window.Reinjected{Kind: "todo", Item: window.Item{ID: "x", Role: window.RoleAssistant, Tokens: 1}}
		},
		"no kind": func([]window.Item) window.Reinjected { return window.Reinjected{Item: window.Item{ID: "x", Tokens: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, rec := producertest.New(t)
			turn, items := pressed(t, client)
			_, err := turn.Call("c").FitWithSummary(t.Context(), items, oldTalk, producer.Compaction{}, func(context.Context, []window.Item) (producer.Summary, error) {
				return producer.Summary{Content: producer.Content{ID: "summary", Text: "They counted."}, Reinjected: []window.Reinjected{state(items)}}, nil
			}, nil)
			if !errors.Is(err, window.ErrContextLimit) {
				t.Errorf("%v", err)
			}
			producertest.One[*schema.CompactionFailed](t, rec.Events())
		})
	}
}

// TestSummarizersCall: the call that wrote a summary is recorded with its own model and
// usage, even if the summary is not used. This call counts in the run's account. The ledger
// shows the kept goals (seed 004, l. 230).
func TestSummarizersCall(t *testing.T) {
	t.Parallel()
	billed := producer.Billed{Usage: schema.ProviderUsage{UncachedInput: new(int64(900)), Output: new(int64(40))}, Cost: new(0.02), Currency: "USD"}
	written := func(text string) producer.Summary {
		return producer.Summary{Content: producer.Content{ID: "summary", Text: text, CallID: "writer"}, Model: "small", Billed: &billed, Goals: []string{"goal-1"}}
	}
	for name, c := range map[string]struct {
		summary producer.Summary
		end     schema.Type
	}{
		"completed": {written("They counted."), schema.TypeCompactionCompleted},
		"discarded": {written(strings.Repeat("and one more ", 400)), schema.TypeCompactionDiscarded},
		"failed":    {written(""), schema.TypeCompactionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, rec := producertest.New(t)
			turn, items := pressed(t, client)
			_, _ = turn.Call("c").FitWithSummary(t.Context(), items, oldTalk, producer.Compaction{Goals: []string{"goal-1", "goal-2"}},
				func(context.Context, []window.Item) (producer.Summary, error) { return c.summary, nil }, nil)
			events := rec.Events()
			usage := producertest.One[*schema.UsageRecorded](t, events)
			if usage.CallID != "writer" || usage.Model != "small" || *usage.Usage.UncachedInput != 900 || *usage.Cost != 0.02 || usage.LineageID == "" {
				t.Errorf("%+v", usage)
			}
			ended := false
			for _, e := range events {
				if e.Fact.EventType() != c.end {
					continue
				}
				ended = true
				var f *schema.Compaction
				switch fact := e.Fact.(type) {
				case *schema.CompactionCompleted:
					f = &fact.Compaction
				case *schema.CompactionDiscarded:
					f = &fact.Compaction
				case *schema.CompactionFailed:
					f = &fact.Compaction
				}
				if f.SummarizerCallID != "writer" || !slices.Equal(schema.RefIDs(f.GoalRefs), []string{"goal-1", "goal-2"}) {
					t.Errorf("%+v", f)
				}
			}
			if !ended {
				t.Errorf("no %s: %v", c.end, events.Types())
			}
			if created := producertest.Facts[*schema.SummaryCreated](events); c.end == schema.TypeCompactionCompleted &&
				(len(created) != 1 || !slices.Equal(schema.RefIDs(created[0].GoalRefs), []string{"goal-1"}) || created[0].SummarizerCallID != "writer") {
				t.Errorf("%+v", created)
			}
		})
	}
}

// TestRunningLogsCall: the ephemeral command that writes a running log is recorded in the
// same way, once.
func TestRunningLogsCall(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call, items := turn.Call("c"), spoken(t, turn)
	log := producer.NewRunningLog("log", "every_5_turns")
	s := producer.Summary{Content: producer.Content{Text: "Read it.", CallID: "writer"}, Model: "small", Billed: &producer.Billed{Usage: schema.ProviderUsage{Output: new(int64(7))}}, Goals: []string{"g"}}
	for field, bad := range map[string]producer.Summary{
		"summary call id": {Content: producer.Content{Text: "x"}, Model: "small", Billed: s.Billed},
		"summary model":   {Content: s.Content, Billed: s.Billed},
		"currency":        {Content: s.Content, Model: "small", Billed: &producer.Billed{Currency: "USD"}},
		"goals":           {Content: s.Content, Goals: []string{"g", "g"}},
	} {
		var wrong *producer.InvalidError
		if err := log.Refresh(t.Context(), call, "sub", items[1:6], bad); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := log.Refresh(t.Context(), call, "sub", items[1:6], s); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t, call, items).CompleteWithLog(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	events := rec.Events()
	if usage := producertest.One[*schema.UsageRecorded](t, events); usage.CallID != "writer" || *usage.Usage.Output != 7 {
		t.Errorf("%+v", usage)
	}
	if f := producertest.One[*schema.SummaryCreated](t, events); f.SummarizerCallID != "writer" || f.EphemeralContextID != "sub" || !slices.Equal(schema.RefIDs(f.GoalRefs), []string{"g"}) {
		t.Errorf("%+v", f)
	}
	if f := producertest.One[*schema.CompactionCompleted](t, events); f.SummarizerCallID != "writer" {
		t.Errorf("%+v", f)
	}
}
