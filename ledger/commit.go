package ledger

import (
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"
)

// LastCommit returns the newest committed range of a stream, and false when there is none. No
// other record holds the progress of a stream.
func (l *Ledger) LastCommit(ctx context.Context, incarnation uuid.UUID) (Range, bool, error) {
	r := Range{Incarnation: incarnation}
	var digest string
	found, err := l.sql.First(ctx, "last_commit", chsql.Params{"incarnation": chsql.UUID(incarnation)}, &r.First, &r.Last, &r.Messages, &digest, &r.RecordedAt)
	if err != nil {
		return r, false, fmt.Errorf("read last commit: %w", err)
	}
	copy(r.Digest[:], digest)
	return r, found, nil
}

// Commit is a row of commits: a projected range, with its number of rows by table.
type Commit struct {
	Range
	Rows map[string]uint64
	Root tlog.Hash // of the log after it; zero where there was none
}

// CommitsBefore returns the newest committed ranges of a stream that begin below
// the sequence first, newest first, at most limit.
func (l *Ledger) CommitsBefore(ctx context.Context, incarnation uuid.UUID, first uint64, limit int) ([]Commit, error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "first": chsql.Number(first), "limit": chsql.Number(limit)}
	var list []Commit
	for row := range l.sql.Rows(ctx, "commits_before", params) {
		c := Commit{Range: Range{Incarnation: incarnation}}
		var digest, root string
		if err := row.Scan(&c.First, &c.Last, &c.Messages, &digest, &c.RecordedAt, &c.Epoch, &c.Rows, &root); err != nil {
			return nil, fmt.Errorf("read commits: %w", err)
		}
		copy(c.Digest[:], digest)
		copy(c.Root[:], root)
		list = append(list, c)
	}
	return list, nil
}

// Committed returns the last committed sequence of every stream that anything was
// committed of, by incarnation.
func (l *Ledger) Committed(ctx context.Context) (map[uuid.UUID]uint64, error) {
	streams := make(map[uuid.UUID]uint64)
	for row := range l.sql.Rows(ctx, "committed", nil) {
		var incarnation uuid.UUID
		var last uint64
		if err := row.Scan(&incarnation, &last); err != nil {
			return nil, fmt.Errorf("read commits: %w", err)
		}
		streams[incarnation] = last
	}
	return streams, nil
}
