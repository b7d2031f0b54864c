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

// ErrCompactionEnded means that a compaction was already completed, failed or discarded.
// Each compaction has one end. Nothing more is recorded.
var ErrCompactionEnded = errors.New("the compaction has ended")

// Compaction describes the replacement of items by a summary (seed 004,
// ACTX-AR-COMPACT-001).
type Compaction struct {
	ID     string        // unique in the session; derived from the call's id by default
	Window []window.Item // window before the compaction
	// Source are the ids of the items that the summary replaces, in the order of Window.
	// See [window.Oldest].
	Source []string
	// Method defaults to an abstractive summary, Trigger to token pressure,
	// ReplacementPolicy to "replace_window".
	Method            schema.CompactionMethod
	Trigger           schema.CompactionTrigger
	ReplacementPolicy string
	// Goals are the ids of the goals in force before the compaction, such as goals of a
	// task list.
	Goals []string
}

// Summary is the runtime's summary of the source, written by a model. Its text is counted,
// digested and masked like other content, and stays in the process. CallID is the id of the
// model call that wrote the summary.
type Summary struct {
	Content
	// Model is the model that wrote the summary. Billed is the provider's bill of that
	// call. The two are recorded as a separate call, which CallID then must name.
	Model         string
	Billed        *Billed
	Goals         []string       // ids of the goals that the summary keeps
	Coverage      map[string]any // coverage of the summary, in the summarizer's words and counts
	LossNotes     []string       // content that the summary leaves out
	OpenQuestions []string       // questions that the summary leaves open
	Validation    any            // result of the summary's check, if any
	// Reinjected is state that is put back next to the summary. Add its items first.
	Reinjected []window.Reinjected
}

// Summarizer writes the summary of a source. A Summarizer runs in the same way as [Work].
type Summarizer func(ctx context.Context, source []window.Item) (Summary, error)

// OpenCompaction is a compaction that has started and has not ended. Each one ends once:
// completed, failed or discarded. Each end is a fact. If the runtime stops before the end,
// the ledger has only the start, and readers do not count the compaction as a success. Safe
// for concurrent use.
type OpenCompaction struct {
	call   *Call
	plan   window.Compaction
	fact   schema.Compaction // fields that all its facts share
	common schema.Common

	mu    sync.Mutex // guards ended; held while an end is recorded
	ended bool
}

// Compact records the start of a compaction. The error is a *window.InvalidError for an
// empty source and for items that cannot be replaced. These items are outside the window,
// pinned, fixed, or part of a tool call.
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

// compaction returns the fields that all facts of one compaction share. The fields hold
// references and no copies.
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

// leaveOutRefs removes lists that are too large for one event, and marks the facts. The
// source window still names the items.
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

// tooMany reports whether references take more than their share of one event.
func tooMany(refs []schema.Ref) bool {
	return len(facts.Chunk(refs, facts.MaxPartBytes/3, facts.RefBytes)) > 1
}

// Complete records the summary as an item and as a summary, its replacement of the source,
// and the state that was put back. All facts are recorded, or none. Complete returns the
// window after the compaction.
//
// With an error nothing is recorded, and the compaction is still open. After
// window.ErrNotSmaller, discard the summary. Other errors are [ErrCompactionEnded], a
// *window.InvalidError for a summary or state that the window cannot hold, and an
// [*InvalidError] for a summary without text.
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

// completed returns the window with the summary, and the fact of the completed compaction.
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

// Fail records the reason for a missing summary; the window does not change. The reason is
// required and quotes no content. The error may be [ErrCompactionEnded].
func (o *OpenCompaction) Fail(ctx context.Context, reason string) error {
	if reason == "" {
		return invalid("reason", "must be given")
	}
	return o.fail(ctx, Summary{}, reason)
}

// fail is Fail for a summary with its own model call that the window cannot hold.
func (o *OpenCompaction) fail(ctx context.Context, s Summary, reason string) error {
	f := &schema.CompactionFailed{Common: o.common, Compaction: o.fact}
	f.Reason = reason
	if s.checkWriting() != nil {
		s = Summary{}
	}
	f.SummarizerCallID = s.CallID
	return o.endWithout(ctx, s, f)
}

// endWithout ends the compaction by a fact without a valid summary, and records the call
// that wrote the summary.
func (o *OpenCompaction) endWithout(ctx context.Context, s Summary, f schema.Fact) error {
	err := o.end(func() error { return o.call.turn.Record(ctx, append(s.writing(), f)...) })
	if err == nil {
		s.bill(o.call.turn.run)
	}
	return err
}

// Discard records that a written summary is not used, and the reason; the window does not
// change. The summary is counted and named, but becomes no item and no summary of the
// ledger. The reason is required and quotes no content. The error may be
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

// Run calls the runtime's function for the summary and ends the compaction by the result.
// The end is failed if the function panicked, hung, returned an error or a summary that the
// window cannot hold. The end is discarded if the summary is not smaller than its source.
// Otherwise the end is completed. Run returns the window after the compaction. With any
// error, this is the unchanged window.
//
// Errors are a [*WorkError], errors of [OpenCompaction.Complete], and errors of recording.
// The end is recorded even if ctx has ended.
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

// giveUp records the end that belongs to an error of Run.
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

// end records the one end of the compaction.
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

// describe fills in the fields that are known when there is a summary.
func (o *OpenCompaction) describe(f *schema.Compaction, a arrival, s Summary) {
	f.SummaryRef, f.SummarizerCallID = schema.Ref(a.item.ID), s.CallID
	f.Coverage, f.LossNotes, f.Validation = s.Coverage, s.LossNotes, s.Validation
	f.Reinjected = reinjected(s.Reinjected)
}

// reinjected returns the recorded form of the state that is put back next to a summary.
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
