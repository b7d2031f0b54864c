package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrGapClosed means that a gap has already ended: it was resolved or withdrawn.
var ErrGapClosed = errors.New("the gap is closed")

// Gap is missing context that the runtime has requested from its owner.
//
//	Turn.Missing ── detected, requested ──▶ Gap ── Resolve, Withdraw ──▶ resolved
//
// All facts of a gap share its id. A gap does not answer a request for permission. The
// opening of a run decides its permissions, and a gap changes none of them. Safe for
// concurrent use. If several callers end a gap, one of them succeeds.
type Gap struct {
	turn    *Turn
	missing schema.Missing

	mu     sync.Mutex // guards closed; held while the end is recorded
	closed bool
}

// Missing records a gap and the request to its owner, both or neither. Missing sends both
// immediately, because the runtime waits for the owner. The Question, its owner
// (RequestedFrom), RequestedAction and a UserSummary without secrets are required. The id
// defaults to a UUIDv7. Missing sets status and resolution.
//
// An error of [Client.Flush] comes with the gap: both facts are queued. With an
// [*InvalidError] or another error of [Client.Record] there is no gap.
func (t *Turn) Missing(ctx context.Context, m schema.Missing) (*Gap, error) {
	for _, required := range []struct {
		field string
		given bool
	}{
		{"question", m.Question != ""}, {"requested_from", m.RequestedFrom != ""}, {"requested_action", m.RequestedAction != ""}, {"user_summary", m.UserSummary != ""},
	} {
		if !required.given {
			return nil, invalid(required.field, "must be given: the request to the gap's owner and the message to users need it")
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

// Resolve records the references that filled the gap. The record belongs to the gap's turn.
// After the turn is sealed, the record belongs only to the turn's run and place. Errors are
// [ErrGapClosed], an [*InvalidError] without refs, and errors of [Client.Record]. After an
// error the gap is unchanged.
func (g *Gap) Resolve(ctx context.Context, refs ...schema.Ref) error {
	if len(refs) == 0 {
		return invalid("resolution_refs", "must name the records that filled the gap")
	}
	return g.end(ctx, schema.StatusResolved, refs)
}

// Withdraw records that the gap ended unfilled. The status is declined if its owner
// declined, and expired if the context is no longer needed. Errors are errors of
// [Gap.Resolve].
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
		ids := g.turn.IDs // keep the place in the work
		ids.TurnID, ids.ContextID = "", ""
		err = g.turn.run.record(ctx, ids, nil, fact)
	}
	g.closed = err == nil
	return err
}
