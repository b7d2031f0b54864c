package producer

import (
	"context"
	"errors"
	"slices"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// FitWithSummary is [Call.Fit] with the ladder's third step recorded as the
// compaction that it is: started before summarize runs, and ended with the plan:
// completed where the summary stands in it, discarded where it is not smaller or
// the request does not fit all the same, failed where there is none. The summary
// becomes an item of the plan's Window, under its layer.
//
// How says the method, the trigger and the like; its Window and Source are the
// plan's. Shorten is asked for the fourth step and may be nil. The summary may
// put nothing back: what it would, belongs among the candidates of the next
// call. Errors are those of Fit; a context that ends while summarize runs leaves
// a compaction that failed, and nothing else.
func (c *Call) FitWithSummary(ctx context.Context, items []window.Item, policy window.Policy, how Compaction, summarize Summarizer, shorten Work) (window.Plan, error) {
	l := &ladder{call: c, how: how, summarize: summarize}
	l.shorten = shorten.planned(ctx, &l.ended)
	plan, fitErr := c.plan(items, policy, func(r window.Request) ([]window.Replacement, error) { return l.work(ctx, r) }, &l.ended)
	if fitErr != nil && !errors.Is(fitErr, window.ErrContextLimit) {
		return plan, errors.Join(fitErr, l.giveUp(ctx))
	}
	told := c.tell(items, plan)
	if fitErr != nil || !l.stands(plan) {
		return plan, errors.Join(fitErr, told.recorded(c.turn.Record(ctx, told.facts...)), l.giveUp(ctx))
	}
	_, done, err := l.open.completed(l.arrival, l.summary)
	if err != nil {
		return plan, errors.Join(err, l.open.giveUp(ctx, l.summary, err))
	}
	plan.Window[slices.IndexFunc(plan.Window, func(it window.Item) bool { return it.ID == l.arrival.item.ID })] = l.arrival.item
	about := append([]schema.Fact{l.open.created(l.arrival, l.summary), done}, told.facts...)
	return plan, told.recorded(l.open.end(func() error { return c.turn.enter(ctx, []arrival{l.arrival}, about...) }))
}

// ladder is what the runtime's functions came to in one plan.
type ladder struct {
	call      *Call
	how       Compaction
	summarize Summarizer
	shorten   window.Work
	ended     error // the caller's context ended

	open    *OpenCompaction // nil where the third step was not asked for
	summary Summary
	arrival arrival
	err     error // why there is no summary
}

func (l *ladder) work(ctx context.Context, r window.Request) ([]window.Replacement, error) {
	switch {
	case l.ended != nil:
		return nil, l.ended
	case r.Step == window.SummarizeMessages && l.summarize != nil:
		return l.write(ctx, r)
	case r.Step != window.SummarizeMessages && l.shorten != nil:
		return l.shorten(r)
	}
	return nil, window.ErrNoWork
}

// write starts the compaction and has the summary written.
func (l *ladder) write(ctx context.Context, r window.Request) ([]window.Replacement, error) {
	l.how.Window, l.how.Source = r.Window, r.Source
	if l.open, l.err = l.call.Compact(ctx, l.how); l.err != nil {
		return nil, l.err
	}
	l.summary, l.err = work(ctx, func(ctx context.Context) (Summary, error) { return l.summarize(ctx, slices.Clone(l.open.plan.Source)) })
	if ctx.Err() != nil {
		l.ended = l.err
	}
	if l.err == nil {
		l.arrival, l.err = l.call.arriveSummary(l.summary)
	}
	if l.err == nil && len(l.summary.Reinjected) > 0 {
		l.err = invalid("summary", "puts back what belongs among the next call's items")
	}
	if l.err != nil {
		return nil, l.err
	}
	item := l.arrival.item
	return []window.Replacement{{ID: item.ID, Layer: item.Layer, After: item.Tokens}}, nil
}

// stands reports whether the summary is in the plan.
func (l *ladder) stands(plan window.Plan) bool {
	return slices.ContainsFunc(plan.Steps, func(r window.Rung) bool { return r.Step == window.SummarizeMessages && len(r.Replaced) > 0 }) && l.open != nil
}

// giveUp ends a compaction whose summary is not used.
func (l *ladder) giveUp(ctx context.Context) error {
	switch {
	case l.open == nil:
		return l.err
	case l.err != nil:
		return l.open.giveUp(context.WithoutCancel(ctx), l.summary, l.err)
	}
	if _, _, err := l.open.completed(l.arrival, l.summary); err != nil {
		return l.open.giveUp(ctx, l.summary, err)
	}
	return l.open.Discard(ctx, l.summary, "the request does not fit all the same")
}
