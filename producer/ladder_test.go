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

// TestFitWithSummary compares the behavior of a summarizer under pressure with the end of
// the compaction and with the plan.
func TestFitWithSummary(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("one two three four five ", 40)
	away := errors.New("with secret content")
	answer := func(text string) producer.Summarizer {
		return func(_ context.Context, source []window.Item) (producer.Summary, error) {
			source[0].ID = "changed" // the summarizer has its own copy
			return producer.Summary{Content: producer.Content{ID: "summary", Text: text}}, nil
		}
	}
	for name, c := range map[string]struct {
		summarize producer.Summarizer
		limit     int
		end       schema.Type // empty if the compaction never starts
		fits      bool
	}{
		"completed":        {answer("They counted."), 100, schema.TypeCompactionCompleted, true},
		"not asked":        {answer("They counted."), 10_000, "", true},
		"nobody to ask":    {nil, 100, "", false},
		"still too large":  {answer("They counted."), 20, schema.TypeCompactionDiscarded, false},
		"more than it got": {answer(big + big + big), 100, schema.TypeCompactionDiscarded, false},
		"nothing":          {answer(""), 100, schema.TypeCompactionFailed, false},
		"an error": {func(context.Context, []window.Item) (producer.Summary, error) { return producer.Summary{}, away }, 100,
			schema.TypeCompactionFailed, false},
		"a panic": {func(context.Context, []window.Item) (producer.Summary, error) { panic("secret") }, 100, schema.TypeCompactionFailed, false},
		"state": {func(context.Context, []window.Item) (producer.Summary, error) {
			return producer.Summary{Content: producer.Content{ID: "s", Text: "x"}, Reinjected: []window.Reinjected{{Kind: "todo"}}}, nil
		}, 100, schema.TypeCompactionFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, rec := producertest.New(t)
			run, err := client.Open(t.Context(), producer.Run{Session: "s"})
			if err != nil {
				t.Fatal(err)
			}
			turn := run.Turn("turn-1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: c.limit}})
			items := add(t, turn, nil, say("sys", "system", "Be brief, and always friendly, and never rude to anybody, at any time."),
				say("u1", "user", big), say("a1", "assistant", big), say("u2", "user", "Go on."))
			policy := window.Policy{Steps: []window.Step{window.SummarizeMessages}}
			plan, err := turn.Call("c").FitWithSummary(t.Context(), items, policy, producer.Compaction{}, c.summarize, nil)
			if errors.Is(err, window.ErrContextLimit) == c.fits || c.fits && err != nil {
				t.Errorf("%v", err)
			}
			if stands := slices.Contains(ids(plan.Window), "summary"); stands != (c.end == schema.TypeCompactionCompleted || name == "still too large") {
				t.Errorf("the window is %v", ids(plan.Window))
			}
			events := rec.Events().Call("c")
			ends := events.Of(schema.TypeCompactionCompleted, schema.TypeCompactionFailed, schema.TypeCompactionDiscarded)
			switch started := len(events.Of(schema.TypeCompactionStarted)); {
			case c.end == "" && (started != 0 || len(ends) != 0), c.end != "" && (started != 1 || !slices.Equal(ends.Types(), []schema.Type{c.end})):
				t.Errorf("%d starts, then %v", started, ends.Types())
			}
			for _, e := range events {
				if strings.Contains(string(e.Data), "secret") {
					t.Errorf("%s quotes the function", e.Fact.EventType())
				}
			}
			if _, err := turn.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			producertest.One[*schema.BudgetApplied](t, rec.Events())
		})
	}
}

// TestFitWithSummaryAbandoned ends the context while the summarizer hangs: the compaction
// is recorded as failed, and no other fact of the call is recorded.
func TestFitWithSummaryAbandoned(t *testing.T) {
	t.Parallel()
	client, rec := strictClient(t)
	run, err := client.Open(t.Context(), producer.Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("turn-1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 10}})
	items := add(t, turn, nil, say("u1", "user", "one two three four five six seven eight nine"), say("u2", "user", "Go on."))
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	plan, err := turn.Call("c").FitWithSummary(ctx, items, window.Policy{Steps: []window.Step{window.SummarizeMessages}}, producer.Compaction{},
		func(context.Context, []window.Item) (producer.Summary, error) {
			cancel()
			<-never
			return producer.Summary{}, nil
		}, nil)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, producer.ErrWork) || len(plan.Window) != 0 {
		t.Errorf("%v, %+v", err, plan)
	}
	if got := rec.Events().Call("c").Types(); !slices.Equal(got, []schema.Type{schema.TypeCompactionStarted, schema.TypeCompactionFailed}) {
		t.Errorf("%v", got)
	}
}
