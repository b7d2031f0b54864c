package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrGapClosed means that a gap had ended before: it was resolved or withdrawn.
var ErrGapClosed = errors.New("the gap is closed")

// Gap is context that is known to be missing and that its owner was asked for.
//
//	Turn.Missing ── detected, requested ──▶ Gap ── Resolve, Withdraw ──▶ resolved
//
// The facts of its life share its id. None of them is an answer to a request for
// permission: what a run may touch was settled when it was opened, and nothing
// here changes that. Safe for concurrent use; of several that end a gap one does.
type Gap struct {
	turn    *Turn
	missing schema.Missing

	mu     sync.Mutex // guards closed; held while the end is recorded
	closed bool
}

// Missing records a gap and that its owner was asked, both or neither, and sends
// them at once, since somebody is waiting for them. The Question, its owner
// (RequestedFrom), RequestedAction and a UserSummary that is safe to show are
// required; the id defaults to a UUIDv7, and status and resolution are set here. An error of
// [Client.Flush] comes with the gap: both facts are queued. With an
// [*InvalidError], and others of [Client.Record], there is no gap.
func (t *Turn) Missing(ctx context.Context, m schema.Missing) (*Gap, error) {
	for _, required := range []struct {
		field string
		given bool
	}{
		{"question", m.Question != ""}, {"requested_from", m.RequestedFrom != ""}, {"requested_action", m.RequestedAction != ""}, {"user_summary", m.UserSummary != ""},
	} {
		if !required.given {
			return nil, invalid(required.field, "must be given: somebody is asked for it, and somebody else told meanwhile")
		}
	}
	id, err := orNewID(m.MissingID)
	if err != nil {
		return nil, err
	}
	m.MissingID, m.ResolutionRefs, m.Status = id, nil, schema.StatusOpen
	requested := m
	requested.Status = schema.StatusRequested
	if err := t.Record(ctx, &schema.MissingDetected{Missing: m}, &schema.MissingRequested{Missing: requested}); err != nil {
		return nil, err
	}
	gap := &Gap{turn: t, missing: schema.Missing{
		MissingID: id, Scope: m.Scope, CallID: m.CallID, Question: m.Question, RequestedFrom: m.RequestedFrom, UserSummary: m.UserSummary,
	}}
	return gap, t.run.client.Flush(ctx)
}

// ID returns the gap's id.
func (g *Gap) ID() string { return g.missing.MissingID }

// Resolve records what filled the gap, by reference. It belongs to the gap's
// turn, or only to its run and place once the turn is sealed. Errors: [ErrGapClosed], an
// [*InvalidError] without refs, and those of [Client.Record], after which the
// gap is as it was.
func (g *Gap) Resolve(ctx context.Context, refs ...schema.Ref) error {
	if len(refs) == 0 {
		return invalid("resolution_refs", "must name what filled the gap")
	}
	return g.end(ctx, schema.StatusResolved, refs)
}

// Withdraw records that the gap ended unfilled: its owner declined, or nobody
// needs it any more (expired). Errors are those of [Gap.Resolve].
func (g *Gap) Withdraw(ctx context.Context, status schema.MissingStatus) error {
	switch status {
	case schema.StatusDeclined, schema.StatusExpired:
		return g.end(ctx, status, nil)
	}
	return invalid("status", "must be declined or expired")
}

func (g *Gap) end(ctx context.Context, status schema.MissingStatus, refs []schema.Ref) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("end the gap as %s: %w", status, ErrGapClosed)
	}
	fact := &schema.MissingResolved{Missing: g.missing}
	fact.Status, fact.ResolutionRefs = status, refs
	err := g.turn.Record(ctx, fact)
	if errors.Is(err, ErrSealed) {
		ids := g.turn.IDs // the place in the work stays
		ids.TurnID, ids.ContextID = "", ""
		err = g.turn.run.record(ctx, ids, nil, fact)
	}
	g.closed = err == nil
	return err
}
