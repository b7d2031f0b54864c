package read

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/schema"
)

// Outcomes counts the outcomes of a range of messages.
type Outcomes struct{ Events, Duplicates, Quarantined uint64 }

// Outcomes returns the outcomes of the committed messages first to last of a stream.
func (l Reader) Outcomes(ctx context.Context, incarnation uuid.UUID, first, last uint64) (o Outcomes, err error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "first": chsql.Number(first), "last": chsql.Number(last)}
	err = l.sql.Row(ctx, "outcomes", params).Scan(&o.Events, &o.Duplicates, &o.Quarantined)
	if err != nil {
		return o, fmt.Errorf("count outcomes: %w", err)
	}
	return o, nil
}

// EventRows returns the number of rows that the ledger has of a session's events, in one tenant or, with
// "", in all. Rows of a range count once it is committed, because then all tables have its rows. A tenant's reader
// cannot see commits and counts all rows. The number changes with each new fact, and costs a tenth of the row of
// the query sessions. A row that is stored twice counts twice until ClickHouse merges it.
func (l Reader) EventRows(ctx context.Context, tenant, session string) (uint64, error) {
	var counted []struct {
		N uint64 `ch:"n"`
	}
	name := "event_rows"
	if chsql.IsReaderDatabase(l.sql.Database) {
		name = "stored_event_rows"
	}
	parameters := map[string]string{"tenant": tenant, "session": session}
	if err := l.Select(ctx, &counted, l.sql.Text(name), parameters, DefaultLimits()); err != nil {
		return 0, fmt.Errorf("count the events of a session: %w", err)
	}
	return counted[0].N, nil
}

// Filter selects events to follow. Empty fields let everything through.
type Filter struct {
	Tenant, Session string
	Type            string // a prefix of the event type, such as "context.selection"
}

// Projected is an event with its place.
type Projected struct {
	ledger.Position
	Event *schema.Event
}

// EventsAfter returns the events of a stream with sequences above after, up to
// last, in order, at most limit.
func (l Reader) EventsAfter(ctx context.Context, incarnation uuid.UUID, after, last uint64, f Filter, limit int) ([]Projected, error) {
	params := chsql.Params{
		"incarnation": chsql.UUID(incarnation), "after": chsql.Number(after), "last": chsql.Number(last), "limit": chsql.Number(limit),
		"tenant": chsql.Text(f.Tenant), "session": chsql.Text(f.Session), "type": chsql.Text(f.Type),
	}
	var list []Projected
	for answer := range l.sql.Rows(ctx, "events_after", params) {
		var r row.Event
		c := &r.Correlation
		err := answer.Scan(&r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &r.Sequence,
			&c.Tenant, &c.Agent, &c.ResourceID, &c.RuntimeID, &c.SessionID, &c.ThreadID, &c.TurnID, &c.TaskID, &c.RunID, &c.AttemptID,
			&c.StepID, &c.ToolCallID, &c.ActionID, &c.EvidenceID, &c.ContextID, &c.ParentRunID, &c.RootRunID, &r.Subject, &r.Data)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		list = append(list, Projected{ledger.Position{Incarnation: incarnation, StreamSeq: r.StreamSeq, RecordedAt: r.RecordedAt}, r.Event()})
	}
	return list, nil
}
