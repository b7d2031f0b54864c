package producer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrCompactionEnded means that a compaction was completed, failed or discarded
// already. Each has one end; nothing more is recorded.
var ErrCompactionEnded = errors.New("the compaction has ended")

// Compaction says what a summary is to replace (seed 004, ACTX-AR-COMPACT-001).
type Compaction struct {
	ID     string        // unique in the session; defaults to one made of the call's
	Window []window.Item // as it is before
	// Source are ids of Window, in its order: what the summary is to stand for.
	// See [window.Oldest].
	Source []string
	// Method defaults to an abstractive summary, Trigger to token pressure,
	// ReplacementPolicy to "replace_window".
	Method            schema.CompactionMethod
	Trigger           schema.CompactionTrigger
	ReplacementPolicy string
	// Goals are ids of the goals in force before it, such as those of a task list.
	Goals []string
}

// Summary is what a runtime's model made of the source. Its text is counted,
// digested and masked as any content, and stays in the process. Its CallID is
// that of the model call which wrote it.
type Summary struct {
	Content
	// Model is the one that wrote it, and Billed what its provider said of that call.
	// They are recorded as a call of its own, which CallID then has to name.
	Model         string
	Billed        *Billed
	Goals         []string       // ids of the goals that it keeps
	Coverage      map[string]any // what it covers, in the summariser's words and counts
	LossNotes     []string       // what it leaves out
	OpenQuestions []string       // what it leaves open
	Validation    any            // whether and how it was checked
	// Reinjected is state that is put back beside it. Add its items first.
	Reinjected []window.Reinjected
}

// Summarizer writes the summary of a source. It is run as [Work] is.
type Summarizer func(ctx context.Context, source []window.Item) (Summary, error)

// OpenCompaction is a compaction that has started and not ended. It ends once,
// as completed, failed or discarded; each is a fact of its own. A runtime that
// stops before leaves the start alone, and no later reader can take that for a
// success. Safe for concurrent use.
type OpenCompaction struct {
	call   *Call
	plan   window.Compaction
	fact   schema.Compaction // what all its facts share
	common schema.Common

	mu    sync.Mutex // guards ended; held while an end is recorded
	ended bool
}

// Compact records that a stretch of the window is about to be replaced. The
// error is a *window.InvalidError for a source that cannot be: nothing, items
// that are not in the window, pinned or fixed ones, part of a tool call.
//
//	comp, err := call.Compact(ctx, producer.Compaction{Window: items, Source: source})
//	items, err = comp.Run(ctx, summarizer) // or Complete, Fail, Discard
func (c *Call) Compact(ctx context.Context, what Compaction) (*OpenCompaction, error) {
	if err := checkGoals(what.Goals); err != nil {
		return nil, err
	}
	plan, err := window.PlanCompaction(what.Window, what.Source)
	if err != nil {
		return nil, c.hide(err)
	}
	o := &OpenCompaction{call: c, plan: plan, fact: c.compaction(what, plan)}
	o.leaveOutRefs()
	if err := c.turn.Record(ctx, &schema.CompactionStarted{Common: o.common, Compaction: o.fact}); err != nil {
		return nil, err
	}
	return o, nil
}

// compaction is what all facts of one share: references, and no copy.
func (c *Call) compaction(what Compaction, plan window.Compaction) schema.Compaction {
	log, first, last := c.turn.run.log, plan.Source[0].ID, plan.Source[len(plan.Source)-1].ID
	f := schema.Compaction{
		CompactionID: what.ID, CallID: c.id, Scope: "thread", Method: what.Method, Trigger: what.Trigger,
		SourceItemRefs: facts.ItemRefs(plan.Source), TokensBefore: new(int64(plan.TokensBefore)),
		SourceWindow: &schema.SourceWindow{
			ThreadID: c.turn.IDs.ThreadID, FirstItemRef: schema.Ref(first), LastItemRef: schema.Ref(last),
			FirstPosition: log.position(first), LastPosition: log.position(last),
			ItemCount: new(int64(len(plan.Source))), Tokens: new(int64(plan.SourceTokens)),
		},
		ReplacementPolicy: what.ReplacementPolicy, RetainedTailRefs: facts.ItemRefs(plan.Tail),
	}
	if len(what.Goals) > 0 {
		f.GoalRefs = schema.Refs(what.Goals...)
	}
	if f.CompactionID == "" {
		f.CompactionID = "compaction:" + c.id
	}
	if f.Method == "" {
		f.Method = schema.MethodAbstractiveSummary
	}
	if f.Trigger == "" {
		f.Trigger = schema.TriggerTokenPressure
	}
	if f.ReplacementPolicy == "" {
		f.ReplacementPolicy = "replace_window"
	}
	return f
}

// leaveOutRefs takes out lists that no event holds, and says so in the facts;
// the source window names the stretch all the same.
func (o *OpenCompaction) leaveOutRefs() {
	left := make(map[string]any)
	for name, list := range map[string]*[]schema.Ref{"source_item_refs": &o.fact.SourceItemRefs, "retained_tail_refs": &o.fact.RetainedTailRefs} {
		if tooMany(*list) {
			*list, left[name] = nil, "left_out"
		}
	}
	if len(left) > 0 {
		o.common.Metadata = left
	}
}

// tooMany reports whether references take more than their part of one event.
func tooMany(refs []schema.Ref) bool {
	return len(facts.Chunk(refs, facts.MaxPartBytes/3, facts.RefBytes)) > 1
}

// Complete records the summary as an item and as a summary, that it now stands
// for the source, and what was put back beside it; all or none. It returns the
// window after it. With an error nothing is recorded, and the compaction is
// still open: a summary that is not smaller, window.ErrNotSmaller, is to be
// discarded. Others are [ErrCompactionEnded], a *window.InvalidError for a
// summary or state that cannot stand there, and an [*InvalidError] for a summary
// without text.
func (o *OpenCompaction) Complete(ctx context.Context, s Summary) ([]window.Item, error) {
	a, err := o.call.arriveSummary(s)
	if err != nil {
		return nil, err
	}
	return o.complete(ctx, a, s, o.fact.Method, o.created(a, s))
}

func (o *OpenCompaction) created(a arrival, s Summary) *schema.SummaryCreated {
	common, body := o.call.summary(a, s, o.plan.Source, "thread_summary")
	return &schema.SummaryCreated{Common: common, Summary: body}
}

func (o *OpenCompaction) complete(ctx context.Context, a arrival, s Summary, method schema.CompactionMethod, about ...schema.Fact) ([]window.Item, error) {
	after, done, err := o.completed(a, s)
	if err != nil {
		return nil, err
	}
	done.Method = method
	about = append(append(about, done), s.writing()...)
	if err := o.end(func() error { return o.call.turn.enter(ctx, []arrival{a}, about...) }); err != nil {
		return nil, err
	}
	s.bill(o.call.turn.run)
	return after, nil
}

// completed is the window with the summary in it, and the fact of that.
func (o *OpenCompaction) completed(a arrival, s Summary) ([]window.Item, *schema.CompactionCompleted, error) {
	after, err := o.plan.Window(a.item, s.Reinjected...)
	if err != nil {
		return nil, nil, o.call.hide(err)
	}
	done := &schema.CompactionCompleted{Common: o.common, Compaction: o.fact}
	o.describe(&done.Compaction, a, s)
	done.TokensAfter = new(tokens(after))
	return after, done, nil
}

// Fail records that no summary came about, and why; the window stands. The
// reason is required and quotes no content. The error may be
// [ErrCompactionEnded].
func (o *OpenCompaction) Fail(ctx context.Context, reason string) error {
	if reason == "" {
		return invalid("reason", "must be given")
	}
	return o.fail(ctx, Summary{}, reason)
}

// fail is Fail where the summary that cannot stand was written by a call of its own.
func (o *OpenCompaction) fail(ctx context.Context, s Summary, reason string) error {
	f := &schema.CompactionFailed{Common: o.common, Compaction: o.fact}
	f.Reason = reason
	if s.checkWriting() != nil {
		s = Summary{}
	}
	f.SummarizerCallID = s.CallID
	return o.endWithout(ctx, s, f)
}

// endWithout ends the compaction by a fact that has no summary stand, and records the call
// that wrote the summary.
func (o *OpenCompaction) endWithout(ctx context.Context, s Summary, f schema.Fact) error {
	err := o.end(func() error { return o.call.turn.Record(ctx, append(s.writing(), f)...) })
	if err == nil {
		s.bill(o.call.turn.run)
	}
	return err
}

// Discard records that a summary came about and is not used, and why; the window
// stands. The summary is counted and named, and becomes no item and no summary
// of the ledger. The reason is required and quotes no content. The error may be
// [ErrCompactionEnded].
func (o *OpenCompaction) Discard(ctx context.Context, s Summary, reason string) error {
	if reason == "" {
		return invalid("reason", "must be given")
	}
	a, err := o.call.arriveSummary(s)
	if err != nil {
		return err
	}
	f := &schema.CompactionDiscarded{Common: o.common, Compaction: o.fact}
	o.describe(&f.Compaction, a, s)
	after := o.plan.TokensBefore - o.plan.SourceTokens + a.item.Tokens
	for _, r := range s.Reinjected {
		after += r.Item.Tokens
	}
	f.Reason, f.TokensAfter = reason, new(int64(after))
	return o.endWithout(ctx, s, f)
}

// Run lets the runtime's function write the summary and ends the compaction by
// what came of it: completed; failed where the function panicked, hung, returned
// an error or a summary that cannot stand there; discarded where the summary is
// not smaller than what it stands for. It returns the window after it, which is
// the one before with any error.
//
// Errors: a [*WorkError], what [OpenCompaction.Complete] returns, and those of
// recording. The end is recorded also where ctx has ended.
func (o *OpenCompaction) Run(ctx context.Context, summarize Summarizer) ([]window.Item, error) {
	s, err := work(ctx, func(ctx context.Context) (Summary, error) { return summarize(ctx, slices.Clone(o.plan.Source)) })
	always := context.WithoutCancel(ctx)
	if err == nil {
		var after []window.Item
		if after, err = o.Complete(always, s); err == nil {
			return after, nil
		}
	}
	return o.plan.Before(), errors.Join(err, o.giveUp(always, s, err))
}

// giveUp records the end that an error of Run makes.
func (o *OpenCompaction) giveUp(ctx context.Context, s Summary, why error) error {
	var unusable *WorkError
	switch {
	case errors.Is(why, ErrCompactionEnded):
		return nil
	case errors.Is(why, window.ErrNotSmaller):
		return o.Discard(ctx, s, window.ErrNotSmaller.Error())
	case errors.As(why, &unusable):
		return o.Fail(ctx, unusable.Error())
	case errors.Is(why, ErrInvalid), errors.Is(why, window.ErrInvalid):
		return o.fail(ctx, s, "the summary cannot stand in the window")
	}
	return o.fail(ctx, s, "the summary could not be recorded")
}

// end records the one end.
func (o *OpenCompaction) end(record func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return ErrCompactionEnded
	}
	err := record()
	o.ended = err == nil
	return err
}

// describe fills in what is known once there is a summary.
func (o *OpenCompaction) describe(f *schema.Compaction, a arrival, s Summary) {
	f.SummaryRef, f.SummarizerCallID = schema.Ref(a.item.ID), s.CallID
	f.Coverage, f.LossNotes, f.Validation = s.Coverage, s.LossNotes, s.Validation
	f.Reinjected = reinjected(s.Reinjected)
}

// reinjected is what is put back beside a summary, as it is recorded.
func reinjected(state []window.Reinjected) (list []schema.Reinjected) {
	for _, r := range state {
		list = append(list, schema.Reinjected{Kind: r.Kind, Ref: schema.Ref(r.Item.ID), Tokens: new(int64(r.Item.Tokens))})
	}
	return list
}

func tokens(items []window.Item) (n int64) {
	for _, it := range items {
		n += int64(it.Tokens)
	}
	return n
}
