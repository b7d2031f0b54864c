package translog

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// SignedHead is a signed head of a stream's log, as the table checkpoints keeps it.
type SignedHead struct {
	Incarnation uuid.UUID
	Size        int64     // of the log
	Note        []byte    // the checkpoint, signed; see package proof
	RecordedAt  time.Time // of the last event in it, by the stream
}

// KeepHead stores a head; c is its signed form. The call may be repeated: a size has one row.
func (l Logs) KeepHead(ctx context.Context, h SignedHead, c proof.Checkpoint) error {
	params := chsql.Params{
		"incarnation": chsql.UUID(h.Incarnation), "size": chsql.Number(h.Size), "root": chsql.Text(hex.EncodeToString(c.Root[:])),
		"note": chsql.Text(hex.EncodeToString(h.Note)), "at": chsql.Time(h.RecordedAt),
	}
	if err := l.sql.Exec(ctx, "insert_checkpoint", params); err != nil {
		return fmt.Errorf("keep a head of the log: %w", err)
	}
	return nil
}

// LastHead returns the newest head of a stream's log with at most this number of leaves, or
// false. The head is not verified.
func (l Logs) LastHead(ctx context.Context, incarnation uuid.UUID, most int64) (h SignedHead, found bool, err error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "most": chsql.Number(most)}
	var size uint64
	var note string
	if found, err = l.sql.First(ctx, "last_checkpoint", params, &size, &note, &h.RecordedAt); err != nil {
		return h, false, fmt.Errorf("read the heads of the log: %w", err)
	}
	h.Incarnation, h.Size, h.Note = incarnation, int64(size), []byte(note)
	return h, found, nil
}

// NewestHeads returns the newest head of the log of each stream that has one, the
// one recorded last first. They are not verified.
func (l Logs) NewestHeads(ctx context.Context) ([]SignedHead, error) {
	var list []SignedHead
	for row := range l.sql.Rows(ctx, "newest_checkpoints", nil) {
		var h SignedHead
		var size uint64
		var note string
		if err := row.Scan(&h.Incarnation, &size, &note, &h.RecordedAt); err != nil {
			return nil, fmt.Errorf("read the heads of the log: %w", err)
		}
		h.Size, h.Note = int64(size), []byte(note)
		list = append(list, h)
	}
	return list, nil
}

// CommittedAt returns the last sequence of the newest commit whose log had at most this number of
// leaves, or 0.
func (l Logs) CommittedAt(ctx context.Context, incarnation uuid.UUID, size int64) (last uint64, err error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "most": chsql.Number(size)}
	if err := l.sql.Row(ctx, "committed_at", params).Scan(&last); err != nil {
		return 0, fmt.Errorf("read the commits of the log: %w", err)
	}
	return last, nil
}

// LeafIndex returns the place of an event in the log of its stream, and false where it
// has none.
func (l Logs) LeafIndex(ctx context.Context, incarnation uuid.UUID, sequence uint64) (index int64, found bool, err error) {
	var n uint64
	found, err = l.sql.First(ctx, "leaf_index", chsql.Params{"incarnation": chsql.UUID(incarnation), "sequence": chsql.Number(sequence)}, &n)
	if err != nil {
		return 0, false, fmt.Errorf("read the log: %w", err)
	}
	return int64(n), found, nil
}

// NewestHead returns the newest head of a stream's log. The head is not verified.
func (l Logs) NewestHead(ctx context.Context, incarnation uuid.UUID) (SignedHead, bool, error) {
	return l.LastHead(ctx, incarnation, 1<<62)
}
