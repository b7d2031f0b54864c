package producer

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestWork returns the result of a function of the runtime, and never the text of its
// error.
func TestWork(t *testing.T) {
	t.Parallel()
	own := errors.New("with secret content")
	for name, c := range map[string]struct {
		do    func(ctx context.Context, never <-chan struct{}) (int, error)
		cause error
	}{
		"answers": {func(context.Context, <-chan struct{}) (int, error) { return 7, nil }, nil},
		"error":   {func(context.Context, <-chan struct{}) (int, error) { return 7, own }, own},
		"panics":  {func(context.Context, <-chan struct{}) (int, error) { panic("with secret content") }, window.ErrWorkPanicked},
		"exits":   {func(context.Context, <-chan struct{}) (int, error) { runtime.Goexit(); return 7, nil }, window.ErrWorkPanicked},
		"hangs":   {func(_ context.Context, never <-chan struct{}) (int, error) { <-never; return 7, nil }, window.ErrWorkTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				never, began := make(chan struct{}), time.Now()
				got, err := work(t.Context(), func(ctx context.Context) (int, error) { return c.do(ctx, never) })
				waited := time.Since(began)
				close(never)
				if c.cause == nil {
					if got != 7 || err != nil {
						t.Errorf("%d, %v", got, err)
					}
					return
				}
				var typed *WorkError
				if !errors.As(err, &typed) || !errors.Is(err, ErrWork) || !errors.Is(err, c.cause) || got != 0 {
					t.Errorf("%d, %v", got, err)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error quotes the function: %v", err)
				}
				if c.cause == window.ErrWorkTimeout && waited != WorkTime {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}

// pressing lists items that fit into small only with a summary.
var pressing = []window.Item{
	{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 70},
	{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 70},
	{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
}

// summarizing runs step 3 and then the last resort.
var summarizing = window.Policy{Steps: []window.Step{window.SummarizeMessages, window.ContextLimit}}

// TestFitAbandoned ends the context of a Fit while the summarizer, which ignores it, hangs.
// The result is a typed error without a fact of the call.
func TestFitAbandoned(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	turn := open(t, client, Run{Session: "s"}).Turn("t", small)
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	plan, err := turn.Call("c").Fit(ctx, pressing, summarizing, func(context.Context, window.Request) ([]window.Replacement, error) {
		cancel()
		<-never
		return nil, nil
	})
	if !errors.Is(err, ErrWork) || !errors.Is(err, context.Canceled) || len(plan.Steps) != 0 {
		t.Errorf("%v, %+v", err, plan)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Events(t)); n != 2 { // scope and seal
		t.Errorf("%d events", n)
	}
}

// TestFitWithBadWork: each bad answer is recorded as a failed step, and the next step runs.
func TestFitWithBadWork(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	client := newClient(t, b)
	run := open(t, client, Run{Session: "s"})
	answer := func(list ...window.Replacement) Work {
		return func(context.Context, window.Request) ([]window.Replacement, error) { return list, nil }
	}
	works := map[string]Work{
		"none": nil, "nothing": answer(), "no size": answer(window.Replacement{ID: "s"}), "negative": answer(window.Replacement{ID: "s", After: -1}),
		"more than it got": answer(window.Replacement{ID: "s", After: 141}), "as much": answer(window.Replacement{ID: "s", After: 140}),
		"an id that is there": answer(window.Replacement{ID: "u2", After: 1}), "no id": answer(window.Replacement{After: 1}),
		"two":    answer(window.Replacement{ID: "s", After: 1}, window.Replacement{ID: "s", After: 1}),
		"error":  func(context.Context, window.Request) ([]window.Replacement, error) { return nil, errors.New("secret") },
		"panics": func(context.Context, window.Request) ([]window.Replacement, error) { panic("secret") },
	}
	for name, work := range works {
		turn := run.Turn(name, small)
		plan, err := turn.Call(name).Fit(t.Context(), pressing, summarizing, work)
		var limit *window.LimitError
		if !errors.As(err, &limit) || len(limit.Remaining) != 3 || len(plan.Window) != 3 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := turn.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	steps := factsOf[*schema.PressureApplied](t, b)
	if len(steps) != 2*len(works) {
		t.Errorf("%d steps", len(steps))
	}
	for _, f := range steps {
		if f.Outcome != schema.OutcomeFailed || strings.Contains(f.Reason, "secret") || *f.Step == 3 && f.Reason == "" {
			t.Errorf("%s: %+v", f.CallID, f)
		}
	}
}

// TestFitsAtOnce: seed 000 applies the policies only if the request does not fit, so no
// step is recorded.
func TestFitsAtOnce(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t)
	turn := open(t, newClient(t, b), Run{Session: "s"}).Turn("t", small)
	if _, err := turn.Call("c").Fit(t.Context(), pressing[2:], window.DefaultPolicy(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	budget := factsOf[*schema.BudgetApplied](t, b)
	if n := len(factsOf[*schema.PressureApplied](t, b)); n != 0 || len(budget) != 1 || *budget[0].EstimatedTokens != 10 {
		t.Errorf("%d steps, %+v", n, budget)
	}
}
