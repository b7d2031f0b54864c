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
// plan's. Shorten is asked for the fourth step and may be nil. What the summary puts
// back follows it in the plan's Window: system state, such as loaded skills and the
// task list (seed 004). It must not be among the candidates.
//
// Errors are those of Fit; a context that ends while summarize runs leaves a compaction
// that failed, and nothing else.
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

// ladder is what the runtime's functions came to in one plan.
type ladder struct {
	call       *Call
	candidates []window.Item
	how        Compaction
	summarize  Summarizer
	shorten    window.Work
	ended      error // the caller's context ended

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
	for _, r := range l.summary.Reinjected {
		if l.err == nil && contains(l.candidates, r.Item.ID) {
			l.err = invalid("summary", "puts back a candidate of the call; pin it to keep it")
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

// doesNotFit is why a summary that was written is not used.
const doesNotFit = "the request does not fit all the same"

// noting is the work, and asked gets its request for a summary.
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

// summarized is the compaction that the summary of a [Work] made, asked for by
// the request: its facts, and the summary's arrival where its item is not recorded
// yet. The item has the size that the work gave, and the plan's Window gets what is
// known of it beyond that. A plan without a summary has no facts.
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
	o.fact.Method = "" // the work's own
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

// sized is the arrival of a summary whose text is not known, only its size.
func sized(item window.Item) arrival {
	return arrival{item: item, facts: []schema.Fact{&schema.ItemAdded{Item: schema.Item{
		ItemID: item.ID, ContextKind: string(schema.KindComputedSummary), ContentMode: schema.ContentSummary,
		TokenEstimate: new(int64(item.Tokens)), Visibility: []string{"model"}, Layer: item.Layer, Role: item.Role,
	}}}}
}
