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
	Source   string
	EventID  string
	Position Position
	Digest   [32]byte
}

// Lookup returns every event whose identity hash is among identities. Hashes
// collide; the caller compares source and id.
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
		if err := rows.Scan(&k.Source, &k.EventID, &k.Position.Incarnation, &k.Position.StreamSeq, &k.Position.RecordedAt, &digest); err != nil {
			return nil, fmt.Errorf("look up identities: %w", err)
		}
		copy(k.Digest[:], digest)
		found = append(found, k)
	}
	return found, rows.Err()
}

// Identities calls add with the identity hash of every event in the ledger,
// to fill a filter at start.
func (l *Ledger) Identities(ctx context.Context, add func(uint64)) error {
	rows, err := l.conn.Query(ctx, statement("identities"))
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var identity uint64
		if err := rows.Scan(&identity); err != nil {
			return fmt.Errorf("read identities: %w", err)
		}
		add(identity)
	}
	return rows.Err()
}

// Digests returns the digests of the events of a range by their sequences.
func (l *Ledger) Digests(ctx context.Context, r Range) (map[uint64][32]byte, error) {
	params := clickhouse.Parameters{"incarnation": r.Incarnation.String(), "first": unsigned(r.First), "last": unsigned(r.Last)}
	rows, err := l.conn.Query(l.with(ctx, params), statement("digests"))
	if err != nil {
		return nil, fmt.Errorf("read digests: %w", err)
	}
	defer rows.Close()
	digests := make(map[uint64][32]byte)
	for rows.Next() {
		var seq uint64
		var digest string
		if err := rows.Scan(&seq, &digest); err != nil {
			return nil, fmt.Errorf("read digests: %w", err)
		}
		digests[seq] = [32]byte([]byte(digest))
	}
	return digests, rows.Err()
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
