package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// SignedHead is a signed head of a stream's log, as the table checkpoints keeps it.
type SignedHead struct {
	Incarnation uuid.UUID
	Size        int64     // of the log
	Note        []byte    // the checkpoint, signed; see package proof
	RecordedAt  time.Time // of the last event in it, by the stream
}

// KeepHead stores a head of which c is what was signed. It may be repeated: a
// size has one row.
func (l *Ledger) KeepHead(ctx context.Context, h SignedHead, c proof.Checkpoint) error {
	params := clickhouse.Parameters{
		"incarnation": h.Incarnation.String(), "size": unsigned(uint64(h.Size)), "root": hex.EncodeToString(c.Root[:]),
		"note": hex.EncodeToString(h.Note), "at": moment(h.RecordedAt),
	}
	if err := l.conn.Exec(l.with(ctx, params), statement("insert_checkpoint")); err != nil {
		return fmt.Errorf("keep a head of the log: %w", err)
	}
	return nil
}

// LastHead returns the newest head of a stream's log that has at most this many
// leaves, and false where there is none. It is not verified.
func (l *Ledger) LastHead(ctx context.Context, incarnation uuid.UUID, most int64) (h SignedHead, found bool, err error) {
	params := clickhouse.Parameters{"incarnation": incarnation.String(), "most": unsigned(uint64(most))}
	var size uint64
	var note string
	if found, err = l.queryOne(ctx, "last_checkpoint", params, &size, &note, &h.RecordedAt); err != nil {
		return h, false, fmt.Errorf("read the heads of the log: %w", err)
	}
	h.Incarnation, h.Size, h.Note = incarnation, int64(size), []byte(note)
	return h, found, nil
}

// NewestHeads returns the newest head of the log of each stream that has one, the
// one recorded last first. They are not verified.
func (l *Ledger) NewestHeads(ctx context.Context) ([]SignedHead, error) {
	rows, err := l.conn.Query(ctx, statement("newest_checkpoints"))
	if err != nil {
		return nil, fmt.Errorf("read the heads of the log: %w", err)
	}
	defer rows.Close()
	var list []SignedHead
	for rows.Next() {
		var h SignedHead
		var size uint64
		var note string
		if err := rows.Scan(&h.Incarnation, &size, &note, &h.RecordedAt); err != nil {
			return nil, fmt.Errorf("read the heads of the log: %w", err)
		}
		h.Size, h.Note = int64(size), []byte(note)
		list = append(list, h)
	}
	return list, rows.Err()
}
