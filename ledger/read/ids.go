package read

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// An IDColumn is a column of ids that people name.
type IDColumn string

// The columns of ids that [Reader.IDs] searches.
const (
	SessionID IDColumn = "session_id"
	ThreadID  IDColumn = "thread_id"
	TurnID    IDColumn = "turn_id"
	RunID     IDColumn = "run_id"
	TaskID    IDColumn = "task_id"
	AttemptID IDColumn = "attempt_id"
	CallID    IDColumn = "call_id"
)

// IDColumns lists the columns of ids that [Reader.IDs] searches, sessions first.
var IDColumns = []IDColumn{SessionID, ThreadID, TurnID, RunID, TaskID, AttemptID, CallID}

// A NamedID is an id with the newest session that has it.
type NamedID struct{ ID, Session, Tenant string }

// IDs returns ids of a column that begin with a text, at most limit: the text itself, if it is an id, then the
// newest first. Empty session and tenant stand for all.
func (l Reader) IDs(ctx context.Context, column IDColumn, beginning, tenant, session string, limit int) (list []NamedID, err error) {
	table := "events"
	if column == CallID {
		table = "calls"
	}
	params := chsql.Params{
		"column": chsql.Text(column), "table": chsql.Text(table), "beginning": chsql.Text(beginning),
		"tenant": chsql.Text(tenant), "session": chsql.Text(session), "limit": chsql.Number(limit),
	}
	for row := range l.sql.Rows(ctx, "ids", params) {
		var id NamedID
		if err := row.Scan(&id.ID, &id.Session, &id.Tenant); err != nil {
			return nil, fmt.Errorf("look for ids: %w", err)
		}
		list = append(list, id)
	}
	return list, nil
}

// PlaceOf returns the newest place of one id of a column, which costs less than [Reader.IDs]. found is
// false if there is none. An empty tenant stands for all.
func PlaceOf(ctx context.Context, l Reader, column IDColumn, id, tenant string) (place NamedID, found bool, err error) {
	table := "events"
	if column == CallID {
		table = "calls"
	}
	place.ID = id
	params := chsql.Params{"column": chsql.Text(column), "table": chsql.Text(table), "id": chsql.Text(id), "tenant": chsql.Text(tenant)}
	if found, err = l.sql.First(ctx, "ids_exact", params, &place.Session, &place.Tenant); err != nil {
		return place, false, fmt.Errorf("look for an id: %w", err)
	}
	return place, found, nil
}

// NewestTurn returns the turn of the newest window, and when the stream stored the window: the zero
// time if there is none. Empty session and tenant stand for all.
func (l Reader) NewestTurn(ctx context.Context, tenant, session string) (turn NamedID, at time.Time, err error) {
	params := chsql.Params{"tenant": chsql.Text(tenant), "session": chsql.Text(session)}
	if _, err = l.sql.First(ctx, "newest_turn", params, &turn.ID, &turn.Session, &turn.Tenant, &at); err != nil {
		return turn, at, fmt.Errorf("look for the newest turn: %w", err)
	}
	return turn, at, nil
}
