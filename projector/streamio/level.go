package streamio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// Level compares a stream with the ledger.
type Level struct {
	Stream      string
	Incarnation uuid.UUID
	Last        uint64 // last sequence of the stream, without deleted messages at its end
	Committed   uint64 // last sequence that is in the ledger
}

// Behind returns the number of sequences that are not in the ledger yet.
func (l Level) Behind() uint64 { return l.Last - l.Committed }

// ReadLevels asks both servers once for each stream of events.
func ReadLevels(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger) ([]Level, error) {
	streams, err := ReadStreams(ctx, js)
	if err != nil {
		return nil, err
	}
	list := make([]Level, len(streams))
	for i, s := range streams {
		if list[i], err = ReadLevel(ctx, js, l, s.Name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ReadLevel asks both servers once for one stream. ReadLevel returns [ErrStreamForked] if the stream
// ends before the last commit. It reads the commit first, so that a later commit is no fork.
func ReadLevel(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, name string) (Level, error) {
	stream, incarnation, err := OpenStream(ctx, js, name)
	if err != nil {
		return Level{}, err
	}
	commit, _, err := l.LastCommit(ctx, incarnation)
	if err != nil {
		return Level{}, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return Level{}, fmt.Errorf("read the stream's state: %w", err)
	}
	level := Level{name, incarnation, info.State.LastSeq, commit.Last}
	if level.Last < level.Committed {
		return level, fmt.Errorf("%w (stream %s ends at %d, before the last commit at %d)", ErrStreamForked, name, level.Last, level.Committed)
	}
	if level.Behind() == 0 {
		return level, nil
	}
	next, err := NextMessage(ctx, stream, commit.Last)
	if errors.Is(err, ErrNotFound) {
		return level, nil // the message exists
	}
	if err == nil && next == nil {
		level.Last = commit.Last
	}
	return level, err
}

// LastSequences holds a sequence for each stream, such as its last one. A missing stream has
// none.
type LastSequences map[string]uint64

// Total returns the sum of the sequences.
func (h LastSequences) Total() (n uint64) {
	for _, last := range h {
		n += last
	}
	return n
}

// ReadLastSequences reads the last sequence of each stream of events.
func ReadLastSequences(ctx context.Context, js jetstream.JetStream) (LastSequences, error) {
	streams, err := ReadStreams(ctx, js)
	if err != nil {
		return nil, err
	}
	heads := make(LastSequences, len(streams))
	for _, s := range streams {
		stream, err := js.Stream(ctx, s.Name)
		if err != nil {
			return nil, fmt.Errorf("read the state of stream %s: %w", s.Name, err)
		}
		heads[s.Name] = stream.CachedInfo().State.LastSeq
	}
	return heads, nil
}

// AwaitCommit waits until the ledger holds all messages up to heads. AwaitCommit returns false
// after the ledger has made no progress for patience, because no projector is running.
// AwaitCommit calls told periodically with the number of committed messages, and the number
// that was missing at first. told may be nil.
func AwaitCommit(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, heads LastSequences, patience time.Duration, told func(done, total int64)) (bool, error) {
	var committed, total uint64
	progress := time.Now()
	for {
		missing, sum, left := false, uint64(0), uint64(0)
		for name, last := range heads {
			level, err := ReadLevel(ctx, js, l, name)
			if err != nil {
				return false, err
			}
			missing = missing || level.Committed < last && level.Behind() > 0
			sum += level.Committed
			left += last - min(last, level.Committed)
		}
		if !missing {
			return true, nil
		}
		if total = max(total, left); told != nil {
			told(int64(total-left), int64(total))
		}
		if sum != committed {
			committed, progress = sum, time.Now()
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
