package producer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

func (c *Call) arriveSummary(s Summary) (arrival, error) {
	content := s.Content
	switch {
	case content.ID == "":
		return arrival{}, invalid("summary id", "must be given")
	case strings.TrimSpace(content.Text) == "":
		return arrival{}, invalid("summary text", "is empty")
	}
	if err := errors.Join(s.checkWriting(), checkGoals(s.Goals)); err != nil {
		return arrival{}, err
	}
	content.Kind = window.KindSummary
	if content.Role == "" {
		content.Role = window.RoleSystem
	}
	if content.Layer == "" {
		content.Layer = window.LayerSummary
	}
	if content.ContextKind == "" {
		content.ContextKind = string(schema.KindComputedSummary)
	}
	return c.turn.run.arrive(c.turn.model.Name, content)
}

// checkWriting refuses a separate summary call that cannot be recorded. Its error is an
// [*InvalidError].
func (s Summary) checkWriting() error {
	switch {
	case s.Billed == nil:
		return nil
	case s.CallID == "":
		return invalid("summary call id", "must name the call that was billed")
	case s.Model == "":
		return invalid("summary model", "must name the model that was billed")
	}
	return s.Billed.validate()
}

// writing returns the record of the model call that wrote the summary, with its own model
// and usage. writing returns no facts without a bill. The call shares no prompt cache with
// other calls.
//
// Source: seed 004, l. 230 (the ephemeral command).
func (s Summary) writing() []schema.Fact {
	if s.Billed == nil {
		return nil
	}
	f := &schema.UsageRecorded{Known: schema.Known{Fidelity: schema.FidelityStated}, CallID: s.CallID, Model: s.Model, LineageID: "x:" + s.CallID}
	s.Billed.fill(f)
	return []schema.Fact{f}
}

// bill counts the recorded call in the account of the run.
func (s Summary) bill(r *RunContext) {
	if s.Billed != nil {
		r.Account.bill(s.Billed.Usage)
	}
}

func checkGoals(goals []string) error {
	for i, goal := range goals {
		if goal == "" || slices.Contains(goals[:i], goal) {
			return invalid("goals", "must be ids, without duplicates")
		}
	}
	return nil
}

// summary returns the description of a summary. summary refers to the covered items and
// holds no copies. If the items are too many for one event, it names the first and the last
// item and marks the omission.
func (c *Call) summary(a arrival, s Summary, covers []window.Item, kind string) (schema.Common, schema.Summary) {
	item := a.fact().Item
	f := schema.Summary{
		SummaryID: a.item.ID, SummaryKind: kind, ContentDigest: item.ContentDigest, Tokens: item.TokenEstimate, ByteSize: item.ByteSize,
		SourceItemRefs: facts.ItemRefs(covers), LossNotes: s.LossNotes, OpenQuestions: s.OpenQuestions,
		SummarizerCallID: s.CallID,
	}
	if len(s.Goals) > 0 {
		f.GoalRefs = schema.Refs(s.Goals...)
	}
	var common schema.Common
	if n := len(f.SourceItemRefs); tooMany(f.SourceItemRefs) {
		f.SourceItemRefs = []schema.Ref{f.SourceItemRefs[0], f.SourceItemRefs[n-1]}
		common.Metadata = map[string]any{"source_item_refs": "first_and_last"}
	}
	for _, it := range covers {
		if at := c.turn.run.log.position(it.ID); at != nil && (f.CoversThroughPosition == nil || *at > *f.CoversThroughPosition) {
			f.CoversThroughPosition = at
		}
	}
	return common, f
}

// RunningLog is a summary that an ephemeral sub-context writes every few turns. A
// compaction then only swaps the summary in (seed 004, ongoing compaction via log). One log
// is not safe for concurrent use.
type RunningLog struct {
	id      string
	policy  string
	version int // number of swaps
	covers  []window.Item
	through *int64 // newest covered position of the item log
	latest  Summary
	created bool // whether this version is recorded
}

// NewRunningLog returns an empty log. The id is the id of its first summary. After each
// swap the old summary is in the window, and the log continues under a new numbered id. The
// policy names the times of a refresh, such as "every_5_turns".
func NewRunningLog(id, policy string) *RunningLog { return &RunningLog{id: id, policy: policy} }

// SummaryID returns the id under which the log is recorded until its next swap.
func (l *RunningLog) SummaryID() string { return nth(l.id, l.version) }

// Refresh records the log's current text: created the first time, refreshed after that.
// Covers are the items that were added since the last refresh. The log still covers the
// earlier items. Subcontext is the ephemeral context in which the model wrote the text; its
// turns are discarded. The summary's id is ignored, because the log has its own.
//
// With an error nothing is recorded, and the log is unchanged. The error is an
// [*InvalidError] for a missing text or subcontext, or for an empty list of covered items.
func (l *RunningLog) Refresh(ctx context.Context, c *Call, subcontext string, covers []window.Item, s Summary) error {
	if subcontext == "" {
		return invalid("subcontext", "must be named")
	}
	s.ID = l.SummaryID()
	a, err := c.arriveSummary(s)
	if err != nil {
		return err
	}
	all := slices.Clone(l.covers)
	for _, it := range covers {
		if !contains(all, it.ID) {
			all = append(all, it)
		}
	}
	if len(all) == 0 {
		return invalid("covers", "is empty; name the items that the log covers")
	}
	common, body := c.summary(a, s, all, "running_log")
	body.EphemeralContextID, body.RefreshPolicy = subcontext, l.policy
	if l.through != nil && (body.CoversThroughPosition == nil || *l.through > *body.CoversThroughPosition) {
		body.CoversThroughPosition = l.through // position of the swapped log
	}
	var fact schema.Fact = &schema.SummaryCreated{Common: common, Summary: body}
	if l.created {
		fact = &schema.SummaryRefreshed{Common: common, Summary: body}
	}
	if err := c.turn.Record(ctx, append(s.writing(), fact)...); err != nil {
		return err
	}
	s.bill(c.turn.run)
	l.covers, l.through, l.latest, l.created = all, body.CoversThroughPosition, s, true
	return nil
}

// CompleteWithLog is Complete with a running log in place of a new summary, and with state
// to put back next to it. The method is then a rolling summary. An [*InvalidError] means
// that the log was never refreshed, or does not cover all of the source. In both cases,
// refresh it first.
func (o *OpenCompaction) CompleteWithLog(ctx context.Context, l *RunningLog, state ...window.Reinjected) ([]window.Item, error) {
	if !l.created {
		return nil, invalid("running log", "is empty; refresh it first")
	}
	for _, it := range o.plan.Source {
		if !contains(l.covers, it.ID) {
			return nil, invalid("running log", "does not cover all of the source; refresh it first")
		}
	}
	s := l.latest
	s.Reinjected, s.Billed = state, nil // the call is already recorded
	a, err := o.call.arriveSummary(s)
	if err != nil {
		return nil, err
	}
	after, err := o.complete(ctx, a, s, schema.MethodRollingSummary)
	if err != nil {
		return nil, err
	}
	*l = RunningLog{id: l.id, policy: l.policy, version: l.version + 1, covers: []window.Item{a.item}, through: l.through}
	return after, nil
}

func contains(items []window.Item, id string) bool {
	return slices.ContainsFunc(items, func(it window.Item) bool { return it.ID == id })
}
