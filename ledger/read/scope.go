package read

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/row"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Scope names the events of a session, or of a run, a turn, a task or an attempt of a session.
type Scope struct {
	Tenant, Session string
	Run, Turn       string   // empty is all
	Task, Attempt   string   // empty is all
	Only            []uint64 // these sequences of the stream; empty is all
}

func (s Scope) parameters() chsql.Params {
	return chsql.Params{
		"tenant": chsql.Text(s.Tenant), "session": chsql.Text(s.Session), "turn": chsql.Text(s.Turn),
		"run": chsql.Text(s.Run), "task": chsql.Text(s.Task), "attempt": chsql.Text(s.Attempt), "only": chsql.Numbers(s.Only),
	}
}

// ScopePlace is a session with events of a scope, erased ones included.
type ScopePlace struct {
	Tenant, Session string
	Events          uint64    // erased ones among them
	First, Last     time.Time // by the stream; of erased events, when that was
}

// ScopePlaces returns the sessions with events of a scope, erased ones included, the latest
// first, at most limit. An empty member of the scope matches every value.
func (l Reader) ScopePlaces(ctx context.Context, s Scope, limit int) ([]ScopePlace, error) {
	params := s.parameters()
	params["limit"], params["erasure"] = chsql.Number(limit), chsql.Text(schema.TypeErasureApplied)
	var list []ScopePlace
	for row := range l.sql.Rows(ctx, "scope_places", params) {
		var p ScopePlace
		if err := row.Scan(&p.Tenant, &p.Session, &p.Events, &p.First, &p.Last); err != nil {
			return nil, fmt.Errorf("look for the scope: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// ScopeLog counts the records of a scope in one stream incarnation.
type ScopeLog struct {
	Incarnation uuid.UUID
	Events      uint64
	Last        uint64 // sequence of the last event
}

// ScopeLogs returns the stream incarnations that have events of a scope, the oldest
// first.
func (l Reader) ScopeLogs(ctx context.Context, s Scope) ([]ScopeLog, error) {
	var list []ScopeLog
	for row := range l.sql.Rows(ctx, "scope_logs", s.parameters()) {
		var log ScopeLog
		if err := row.Scan(&log.Incarnation, &log.Events, &log.Last); err != nil {
			return nil, fmt.Errorf("look for the scope: %w", err)
		}
		list = append(list, log)
	}
	return list, nil
}

// Logged is an event with its place in the transparency log.
type Logged struct {
	Projected
	Index int64 // in the log of its incarnation; -1 for an event that has no leaf
	Leaf  tlog.Hash
	Salt  proof.Salt
}

// Proven reports whether the event is the one of its leaf.
func (e Logged) Proven() bool { return proof.Leaf(e.Event, e.Salt) == e.Leaf }

// Expired reports whether the content of the event has left the tables by a retention. Such an event is
// not proven.
func (e Logged) Expired() bool { return len(e.Event.Data) == 0 && !e.Proven() }

// ScopeEvents calls visit for every event of a scope that is in a stream incarnation, in log
// order, and stops at the first error. One block of events is held at a time. The server gives
// it ten minutes, visit's time among them: the most that a reader may ask for.
func (l Reader) ScopeEvents(ctx context.Context, s Scope, incarnation uuid.UUID, visit func(Logged) error) error {
	params := s.parameters()
	params["incarnation"] = chsql.UUID(incarnation)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var events eventCursors
	for _, tenant := range ledger.StoredTenants(s.Tenant) {
		params["tenant"] = chsql.Text(tenant)
		rows, err := l.sql.Query(ctx, "scope_events", params)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		defer rows.Close()
		events = append(events, &eventCursor{rows: rows, incarnation: incarnation})
	}
	params["tenant"] = chsql.Text(s.Tenant)
	rows, err := l.sql.Query(ctx, "scope_leaves", params)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	leaves := leafCursor{rows: rows}
	for {
		e, more, err := events.next()
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		if !more {
			return nil
		}
		if err := leaves.find(&e); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// eventCursor goes through events in the order of the stream.
type eventCursor struct {
	rows        driver.Rows
	incarnation uuid.UUID
	head        *Logged // read, and not yet taken
}

// peek returns the next event, and nil after the last.
func (c *eventCursor) peek() (*Logged, error) {
	if c.head != nil || !c.rows.Next() {
		return c.head, c.rows.Err()
	}
	e := Logged{Projected: Projected{Position: ledger.Position{Incarnation: c.incarnation}}, Index: -1}
	if err := scanLogged(c.rows, &e); err != nil {
		return nil, err
	}
	c.head = &e
	return c.head, nil
}

// eventCursors merge events that are stored under several names of one tenant.
type eventCursors []*eventCursor

func (all eventCursors) next() (e Logged, more bool, err error) {
	var first *eventCursor
	for _, c := range all {
		head, err := c.peek()
		switch {
		case err != nil:
			return e, false, err
		case head != nil && (first == nil || head.StreamSeq < first.head.StreamSeq):
			first = c
		}
	}
	if first == nil {
		return e, false, nil
	}
	e, first.head = *first.head, nil
	return e, true, nil
}

// leafCursor goes through leaves in the order of the stream.
type leafCursor struct {
	rows            driver.Rows
	read            bool // a leaf is there that no event has had
	index, sequence uint64
	hash            string
}

// find gives an event its leaf, if there is one.
func (c *leafCursor) find(e *Logged) error {
	for c.read || c.rows.Next() {
		if !c.read {
			if err := c.rows.Scan(&c.index, &c.sequence, &c.hash); err != nil {
				return err
			}
			if len(c.hash) != tlog.HashSize {
				return fmt.Errorf("a hash of %d bytes", len(c.hash))
			}
		}
		if c.read = c.sequence > e.StreamSeq; c.read {
			return nil
		}
		if c.sequence == e.StreamSeq {
			e.Index, e.Leaf = int64(c.index), tlog.Hash([]byte(c.hash))
			return nil
		}
	}
	return c.rows.Err()
}

func scanLogged(rows driver.Rows, e *Logged) error {
	var r row.Event
	c := &r.Correlation
	err := rows.Scan(&r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &r.Sequence,
		&c.Tenant, &c.Agent, &c.ResourceID, &c.RuntimeID, &c.SessionID, &c.ThreadID, &c.TurnID, &c.TaskID, &c.RunID, &c.AttemptID,
		&c.StepID, &c.ToolCallID, &c.ActionID, &c.EvidenceID, &c.ContextID, &c.ParentRunID, &c.RootRunID, &r.Subject,
		&r.DataContentType, &r.DataSchema, &r.PartitionKey, &r.CorrelationID, &r.CausationID, &r.RecordedTime,
		&r.TraceParent, &r.TraceState, &r.DataClassification, &r.Extensions, &r.Data, &r.Salt, &r.TenantAbsent)
	if err != nil {
		return err
	}
	e.StreamSeq, e.RecordedAt, e.Event = r.StreamSeq, r.RecordedAt.UTC(), r.Event()
	copy(e.Salt[:], r.Salt)
	return nil
}
