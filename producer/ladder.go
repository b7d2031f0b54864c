package producer

import (
	"context"
	"errors"
	"slices"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// FitWithSummary is [Call.Fit] with the ladder's third step recorded as a compaction. The
// compaction starts before summarize runs and ends with the plan. The compaction is
// completed if the plan has the summary. The compaction is discarded if the summary is not
// smaller, or if the request does not fit even with the summary. The compaction is failed
// if there is no summary. The summary becomes an item of the plan's Window, under its
// layer.
//
// How gives the method, the trigger and similar fields. The plan gives its Window and
// Source. Shorten runs in the fourth step and may be nil. The summary puts back system
// state, such as loaded skills and the task list (seed 004). This state follows the summary
// in the plan's Window. The state must not be a candidate.
//
// Errors are errors of Fit. If the context ends while summarize runs, only a failed
// compaction is recorded.
func (c *Call) FitWithSummary(ctx context.Context, items []window.Item, policy window.Policy, how Compaction, summarize Summarizer, shorten Work) (window.Plan, error) {
	l := &ladder{call: c, how: how, summarize: summarize, candidates: items}
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
	about := slices.Concat([]schema.Fact{l.open.created(l.arrival, l.summary), done}, l.summary.writing(), told.facts)
	err = told.recorded(l.open.end(func() error { return c.turn.enter(ctx, []arrival{l.arrival}, about...) }))
	if err == nil {
		l.summary.bill(c.turn.run)
	}
	return plan, err
}

// ladder holds the results of the runtime's functions in one plan.
type ladder struct {
	call       *Call
	candidates []window.Item
	how        Compaction
	summarize  Summarizer
	shorten    window.Work
	ended      error // error of the caller's context, if it has ended

	open    *OpenCompaction // nil if the third step did not run
	summary Summary
	arrival arrival
	err     error // reason for a missing summary
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

// write starts the compaction and calls the runtime's function for the summary.
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
	for _, r := range l.summary.Reinjected {
		if l.err == nil && contains(l.candidates, r.Item.ID) {
			l.err = invalid("summary", "puts back a candidate of the call; pin the candidate to keep it")
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	item := l.arrival.item
	return []window.Replacement{{ID: item.ID, Layer: item.Layer, After: item.Tokens, State: l.summary.Reinjected}}, nil
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
	return l.open.Discard(ctx, l.summary, doesNotFit)
}

// doesNotFit is the recorded reason for discarding a summary if the request is still too
// large.
const doesNotFit = "the request does not fit all the same"

// noting wraps work and stores its request for a summary in asked.
func noting(work window.Work, asked *window.Request) window.Work {
	if work == nil {
		return nil
	}
	return func(r window.Request) ([]window.Replacement, error) {
		if r.Step == window.SummarizeMessages {
			*asked = r
			asked.Source, asked.Window = slices.Clone(r.Source), slices.Clone(r.Window)
		}
		return work(r)
	}
}

// summarized returns the facts of the compaction that the summary of a [Work] made.
// summarized also returns the summary's arrival, if its item is not recorded yet. The item
// has the size that the work gave. The plan's Window gets the other known fields. A plan
// without a summary has no facts.
func (c *Call) summarized(plan window.Plan, asked window.Request) (arrivals []arrival, about []schema.Fact, err error) {
	id, state := "", []window.Reinjected(nil)
	for _, rung := range plan.Steps {
		if rung.Step == window.SummarizeMessages && len(rung.Replaced) > 0 {
			id, state = rung.Replaced[0].ID, rung.Replaced[0].State
		}
	}
	if id == "" {
		return nil, nil, nil
	}
	source, err := window.PlanCompaction(asked.Window, asked.Source)
	if err != nil {
		return nil, nil, c.hide(err)
	}
	item := &plan.Window[slices.IndexFunc(plan.Window, func(it window.Item) bool { return it.ID == id })]
	o := &OpenCompaction{call: c, plan: source, fact: c.compaction(Compaction{Window: asked.Window, Source: asked.Source}, source)}
	o.fact.Method = "" // known only to the work
	o.leaveOutRefs()
	end := o.fact
	end.SummaryRef, end.Reinjected = schema.Ref(id), reinjected(state)
	end.TokensAfter = new(int64(source.TokensBefore - source.SourceTokens + item.Tokens))
	for _, r := range state {
		*end.TokensAfter += int64(r.Item.Tokens)
	}
	started := &schema.CompactionStarted{Common: o.common, Compaction: o.fact}
	if plan.TokensAfter > plan.Limit {
		end.Reason = doesNotFit
		return nil, []schema.Fact{started, &schema.CompactionDiscarded{Common: o.common, Compaction: end}}, nil
	}
	a, known := c.turn.run.log.summary(id)
	if known {
		item.Digest, item.Redaction = a.item.Digest, a.item.Redaction
	} else {
		a = sized(*item)
		arrivals = []arrival{a}
	}
	return arrivals, []schema.Fact{started, o.created(a, Summary{}), &schema.CompactionCompleted{Common: o.common, Compaction: end}}, nil
}

// sized returns the arrival of a summary with a known size and an unknown text.
func sized(item window.Item) arrival {
	return arrival{item: item, facts: []schema.Fact{&schema.ItemAdded{Item: schema.Item{
		ItemID: item.ID, ContextKind: string(schema.KindComputedSummary), ContentMode: schema.ContentSummary,
		TokenEstimate: new(int64(item.Tokens)), Visibility: []string{"model"}, Layer: item.Layer, Role: item.Role,
	}}}}
}
