package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Scope names events: those of a session, or of a run or a turn of one.
type Scope struct {
	Tenant, Session string
	Run, Turn       string   // empty is all
	Only            []uint64 // these sequences of the stream; empty is all
}

func (s Scope) parameters() clickhouse.Parameters {
	return clickhouse.Parameters{
		"tenant": parameterEscapes.Replace(s.Tenant), "session": parameterEscapes.Replace(s.Session), "turn": parameterEscapes.Replace(s.Turn),
		"run": parameterEscapes.Replace(s.Run), "only": arrayParameter(s.Only),
	}
}

// ScopePlace is a session that has events of a scope, or had some that were erased.
type ScopePlace struct {
	Tenant, Session string
	Events          uint64    // erased ones among them
	First, Last     time.Time // by the stream; of erased events, when that was
}

// ScopePlaces returns the sessions that have or had events of a scope, of which every
// member that is empty is open, the latest first, at most limit.
func (l *Ledger) ScopePlaces(ctx context.Context, s Scope, limit int) ([]ScopePlace, error) {
	params := s.parameters()
	params["limit"], params["erasure"] = strconv.Itoa(limit), string(schema.TypeErasureApplied)
	rows, err := l.conn.Query(l.with(ctx, params), statement("scope_places"))
	if err != nil {
		return nil, fmt.Errorf("look for the scope: %w", err)
	}
	defer rows.Close()
	var list []ScopePlace
	for rows.Next() {
		var p ScopePlace
		if err := rows.Scan(&p.Tenant, &p.Session, &p.Events, &p.First, &p.Last); err != nil {
			return nil, fmt.Errorf("look for the scope: %w", err)
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// ScopeLog says how much of a scope is in one stream incarnation.
type ScopeLog struct {
	Incarnation uuid.UUID
	Events      uint64
	Last        uint64 // sequence of the last event
}

// ScopeLogs returns the stream incarnations that have events of a scope, the oldest
// first.
func (l *Ledger) ScopeLogs(ctx context.Context, s Scope) ([]ScopeLog, error) {
	rows, err := l.conn.Query(l.with(ctx, s.parameters()), statement("scope_logs"))
	if err != nil {
		return nil, fmt.Errorf("look for the scope: %w", err)
	}
	defer rows.Close()
	var list []ScopeLog
	for rows.Next() {
		var log ScopeLog
		if err := rows.Scan(&log.Incarnation, &log.Events, &log.Last); err != nil {
			return nil, fmt.Errorf("look for the scope: %w", err)
		}
		list = append(list, log)
	}
	return list, rows.Err()
}

// Logged is an event with its place in the transparency log.
type Logged struct {
	Projected
	Index int64 // in the log of its incarnation; -1 for an event that has no leaf
	Leaf  tlog.Hash
	Salt  proof.Salt
}

// ScopeEvents calls visit for every event of a scope that is in a stream
// incarnation, in log order, and stops at the first error. It holds a block of
// events at a time. The server gives it ten minutes, visit's time among them: the most
// that a reader may ask for.
func (l *Ledger) ScopeEvents(ctx context.Context, s Scope, incarnation uuid.UUID, visit func(Logged) error) error {
	params := s.parameters()
	params["incarnation"] = incarnation.String()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var events eventCursors
	for _, tenant := range StoredTenants(s.Tenant) {
		params["tenant"] = parameterEscapes.Replace(tenant)
		rows, err := l.conn.Query(l.with(ctx, params), statement("scope_events"))
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		defer rows.Close()
		events = append(events, &eventCursor{rows: rows, incarnation: incarnation})
	}
	params["tenant"] = parameterEscapes.Replace(s.Tenant)
	rows, err := l.conn.Query(l.with(ctx, params), statement("scope_leaves"))
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
	e := Logged{Projected: Projected{Position: Position{Incarnation: c.incarnation}}, Index: -1}
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
	var r eventRow
	c := &r.Correlation
	err := rows.Scan(&r.StreamSeq, &r.RecordedAt, &r.EventTime, &r.EventID, &r.Source, &r.EventType, &r.Sequence,
		&c.Tenant, &c.Agent, &c.ResourceID, &c.RuntimeID, &c.SessionID, &c.ThreadID, &c.TurnID, &c.TaskID, &c.RunID, &c.AttemptID,
		&c.StepID, &c.ToolCallID, &c.ActionID, &c.EvidenceID, &c.ContextID, &c.ParentRunID, &c.RootRunID, &r.Subject,
		&r.DataContentType, &r.DataSchema, &r.PartitionKey, &r.CorrelationID, &r.CausationID, &r.RecordedTime,
		&r.TraceParent, &r.TraceState, &r.DataClassification, &r.Extensions, &r.Data, &r.Salt, &r.TenantAbsent)
	if err != nil {
		return err
	}
	e.StreamSeq, e.RecordedAt, e.Event = r.StreamSeq, r.RecordedAt.UTC(), r.event()
	copy(e.Salt[:], r.Salt)
	return nil
}

// LeafIndex returns the place of an event in the log of its stream, and false where it
// has none.
func (l *Ledger) LeafIndex(ctx context.Context, incarnation uuid.UUID, sequence uint64) (index int64, found bool, err error) {
	var n uint64
	found, err = l.queryOne(ctx, "leaf_index", clickhouse.Parameters{"incarnation": incarnation.String(), "sequence": unsigned(sequence)}, &n)
	if err != nil {
		return 0, false, fmt.Errorf("read the log: %w", err)
	}
	return int64(n), found, nil
}

// NewestHead returns the newest head of a stream's log. It is not verified.
func (l *Ledger) NewestHead(ctx context.Context, incarnation uuid.UUID) (SignedHead, bool, error) {
	return l.LastHead(ctx, incarnation, 1<<62)
}
