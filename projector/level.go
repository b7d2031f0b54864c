package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// Level compares a stream with the ledger.
type Level struct {
	Incarnation uuid.UUID
	Last        uint64 // last sequence of the stream, deleted messages at its end left out
	Committed   uint64 // last sequence that is in the ledger
}

// Behind is how many sequences are not in the ledger yet.
func (l Level) Behind() uint64 { return l.Last - min(l.Last, l.Committed) }

// ReadLevel asks both servers once.
func ReadLevel(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger) (Level, error) {
	stream, incarnation, err := openStream(ctx, js)
	if err != nil {
		return Level{}, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return Level{}, fmt.Errorf("look at the stream: %w", err)
	}
	commit, _, err := l.LastCommit(ctx, incarnation)
	level := Level{incarnation, info.State.LastSeq, commit.Last}
	if err != nil || level.Behind() == 0 {
		return level, err
	}
	_, err = stream.GetMsg(ctx, commit.Last+1, jetstream.WithGetMsgSubject(schema.AllSubjects))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		level.Last, err = commit.Last, nil
	}
	if err != nil {
		return level, fmt.Errorf("look at the stream: %w", err)
	}
	return level, nil
}

// AwaitCommit waits until the ledger holds everything up to sequence seq. It
// returns false when the ledger made no progress for patience: no projector is
// running.
func AwaitCommit(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, seq uint64, patience time.Duration) (bool, error) {
	var committed uint64
	progress := time.Now()
	for {
		level, err := ReadLevel(ctx, js, l)
		if err != nil {
			return false, err
		}
		if level.Committed >= seq || level.Behind() == 0 {
			return true, nil
		}
		if level.Committed != committed {
			committed, progress = level.Committed, time.Now()
		}
		if time.Since(progress) > patience {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
