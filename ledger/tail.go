package ledger

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// Outcomes counts what became of a range of messages.
type Outcomes struct{ Events, Duplicates, Quarantined uint64 }

// Outcomes returns what became of the messages first to last of a stream, as
// far as they are committed.
func (l *Ledger) Outcomes(ctx context.Context, incarnation uuid.UUID, first, last uint64) (o Outcomes, err error) {
	params := clickhouse.Parameters{"incarnation": incarnation.String(), "first": unsigned(first), "last": unsigned(last)}
	err = l.conn.QueryRow(l.with(ctx, params), statement("outcomes")).Scan(&o.Events, &o.Duplicates, &o.Quarantined)
	if err != nil {
		return o, fmt.Errorf("count outcomes: %w", err)
	}
	return o, nil
}

// Committed returns the last committed sequence of every stream that anything was
// committed of, by incarnation.
func (l *Ledger) Committed(ctx context.Context) (map[uuid.UUID]uint64, error) {
	rows, err := l.conn.Query(ctx, statement("committed"))
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	defer rows.Close()
	streams := make(map[uuid.UUID]uint64)
	for rows.Next() {
		var incarnation uuid.UUID
		var last uint64
		if err := rows.Scan(&incarnation, &last); err != nil {
			return nil, fmt.Errorf("read commits: %w", err)
		}
		streams[incarnation] = last
	}
	return streams, rows.Err()
}

// Filter says which events to follow. Empty fields let everything through.
type Filter struct {
	Tenant, Session string
	Type            string // a prefix of the event type, such as "context.selection"
}

// Projected is an event with its place.
type Projected struct {
	Position
	Event *schema.Event
}

// EventsAfter returns the events of a stream with sequences above after, up to
// last, in order, at most limit.
func (l *Ledger) EventsAfter(ctx context.Context, incarnation uuid.UUID, after, last uint64, f Filter, limit int) ([]Projected, error) {
	params := clickhouse.Parameters{
		"incarnation": incarnation.String(), "after": unsigned(after), "last": unsigned(last), "limit": strconv.Itoa(limit),
		"tenant": f.Tenant, "session": f.Session, "type": f.Type,
	}
	rows, err := l.conn.Query(l.with(ctx, params), statement("events_after"))
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var list []Projected
	for rows.Next() {
		var r eventRow
		c := &r.Correlation
		err := rows.Scan(&r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &r.Sequence,
			&c.Tenant, &c.Agent, &c.ResourceID, &c.RuntimeID, &c.SessionID, &c.ThreadID, &c.TurnID, &c.TaskID, &c.RunID, &c.AttemptID,
			&c.StepID, &c.ToolCallID, &c.ActionID, &c.EvidenceID, &c.ContextID, &c.ParentRunID, &c.RootRunID, &r.Subject, &r.Data)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		list = append(list, Projected{Position{incarnation, r.StreamSeq, r.RecordedAt}, r.event()})
	}
	return list, rows.Err()
}

func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }
