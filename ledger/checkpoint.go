package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// LastCommit returns the newest committed range of a stream, and false when
// there is none. It is the only checkpoint.
func (l *Ledger) LastCommit(ctx context.Context, incarnation uuid.UUID) (Range, bool, error) {
	rows, err := l.conn.Query(l.with(ctx, clickhouse.Parameters{"incarnation": incarnation.String()}), statement("last_commit"))
	if err != nil {
		return Range{}, false, fmt.Errorf("read last commit: %w", err)
	}
	defer rows.Close()
	r := Range{Incarnation: incarnation}
	if !rows.Next() {
		return r, false, rows.Err()
	}
	var digest string
	if err := rows.Scan(&r.First, &r.Last, &r.Messages, &digest, &r.RecordedAt); err != nil {
		return r, false, fmt.Errorf("read last commit: %w", err)
	}
	copy(r.Digest[:], digest)
	return r, true, rows.Err()
}

// Known is an identity that the ledger holds: the event's position, and the
// digest that tells a repeat from a conflict.
type Known struct {
	Tenant   string // as stored: "" and "default" are one
	Source   string
	EventID  string
	Position Position
	Digest   [32]byte
}

// Lookup returns every event whose identity hash is among identities. Hashes
// collide; the caller compares tenant, source and id.
func (l *Ledger) Lookup(ctx context.Context, identities []uint64) ([]Known, error) {
	rows, err := l.conn.Query(l.with(ctx, clickhouse.Parameters{"identities": arrayParameter(identities)}), statement("lookup_identities"))
	if err != nil {
		return nil, fmt.Errorf("look up identities: %w", err)
	}
	defer rows.Close()
	var found []Known
	for rows.Next() {
		var k Known
		var digest string
		if err := rows.Scan(&k.Tenant, &k.Source, &k.EventID, &k.Position.Incarnation, &k.Position.StreamSeq, &k.Position.RecordedAt, &digest); err != nil {
			return nil, fmt.Errorf("look up identities: %w", err)
		}
		copy(k.Digest[:], digest)
		found = append(found, k)
	}
	return found, rows.Err()
}

// Identities calls add with the identity hash of every event in the ledger that
// is of none of the streams except, to fill a filter at start. Before the first it
// calls most with about how many there are, repeats included.
func (l *Ledger) Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error {
	list := make([]string, len(except))
	for i, incarnation := range except {
		list[i] = incarnation.String()
	}
	params := clickhouse.Parameters{"except": textParameter(list)}
	var n uint64
	if err := l.conn.QueryRow(l.with(ctx, params), statement("identities_count")).Scan(&n); err != nil {
		return fmt.Errorf("count identities: %w", err)
	}
	most(n)
	if err := l.sender.numbers(ctx, statement("identities"), "identity", params, add); err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	return nil
}

// Trace is by what a message of the stream is told from another one that has its
// place.
type Trace struct {
	RecordedAt time.Time // by the stream, to the nanosecond
	Digest     [32]byte  // of the event; zero for one that does not count
}

// Traces returns what the ledger has of each message of a range, by sequences. A
// message of which it has no row is left out.
func (l *Ledger) Traces(ctx context.Context, r Range) (map[uint64]Trace, error) {
	params := clickhouse.Parameters{"incarnation": r.Incarnation.String(), "first": unsigned(r.First), "last": unsigned(r.Last)}
	rows, err := l.conn.Query(l.with(ctx, params), statement("traces"))
	if err != nil {
		return nil, fmt.Errorf("read what is held of a range: %w", err)
	}
	defer rows.Close()
	traces := make(map[uint64]Trace)
	for rows.Next() {
		var seq uint64
		var t Trace
		var digest string
		if err := rows.Scan(&seq, &t.RecordedAt, &digest); err != nil {
			return nil, fmt.Errorf("read what is held of a range: %w", err)
		}
		copy(t.Digest[:], digest)
		traces[seq] = t
	}
	return traces, rows.Err()
}

// killPatience bounds how long KillInserts waits for what it has killed.
const killPatience = 2 * time.Second

// KillInserts ends every insert into this stream's tables that is still
// running and returns once none is, or none but those that wait for a client
// that has stopped: the server refuses these as soon as they send. A writer
// that takes over calls it before its own first insert, so all that run are of
// earlier epochs.
func (l *Ledger) KillInserts(ctx context.Context, incarnation uuid.UUID) error {
	prefix := l.with(ctx, clickhouse.Parameters{"prefix": queryPrefix(Range{Incarnation: incarnation})})
	// KILL … SYNC would wait for a stopped client until its connection times out.
	if err := l.conn.Exec(prefix, statement("kill_inserts")); err != nil {
		return fmt.Errorf("kill inserts of earlier writers: %w", err)
	}
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		var running uint64
		if err := l.conn.QueryRow(prefix, statement("running_inserts")).Scan(&running); err != nil {
			return fmt.Errorf("look for inserts of earlier writers: %w", err)
		}
		if running == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (l *Ledger) with(ctx context.Context, p clickhouse.Parameters) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithParameters(p))
}

// nonce keeps the query ids of retries apart: a server refuses the id of a
// query that still runs.
func nonce() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func arrayParameter(values []uint64) string {
	text := make([]byte, 0, 21*len(values)+2)
	text = append(text, '[')
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%d", v)
	}
	return string(append(text, ']'))
}
