package projector

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A pipeline takes messages from the stream to the ledger. A projector runs a pipeline from the
// end of its recovery until the first error.
type pipeline struct {
	*shared
	builder *builder
	writer  *writer
	in      *streamio.Reader
	pace    *pace
	turns   *turns       // nil for the only stream, whose batches all have the full size
	taken   atomic.Int32 // turns of batches that are not committed
	writing atomic.Bool  // a batch is being written
}

// run reads, builds and writes batches, each in a separate goroutine. One batch is written
// while the next is built and the one after that is read:
//
//	readAll ──messages──▶ buildAll ──rows──▶ writeAll
//	reader                keys, identities,  lease, journal, tables,
//	                      holes, withheld    commits, deletion
//
// The channels are unbuffered, and messages become rows part by part. Memory therefore holds
// the rows of two batches and the messages of two parts. Batches are written strictly in order,
// one range at a time. Work that is not yet journalled leaves no trace.
//
// When a stage ends, the later stages finish their work. run returns the first error in the
// order of the stream. With UntilCaughtUp it returns nil when the ledger is level.
func (l *pipeline) run(ctx context.Context, next uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	parts, ready := make(chan part), make(chan batch)
	var readErr, buildErr error
	go func() {
		defer close(parts)
		readErr = l.readAll(ctx, next, parts)
	}()
	go func() {
		defer close(ready)
		buildErr = l.buildAll(ctx, parts, ready)
	}()
	err := l.writeAll(ctx, ready)
	cancel(err)
	for range ready { // until the builder has ended
	}
	for range parts { // and the reader
	}
	for l.taken.Load() > 0 {
		l.give(nil)
	}
	for _, other := range []error{buildErr, readErr} {
		if err == nil {
			err = other
		}
	}
	return err
}

// hand sends a value, unless ctx ends first.
func hand[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// part is some messages of a batch. end marks the last part. grown tells of the last part whether the
// batch holds a turn. rows of the first part is a batch for reuse, or nil.
type part struct {
	messages   []*streamio.Message
	end, grown bool
	rows       *ledger.Batch
}

// partMessages is the number of messages that are read before they are built.
const partMessages = 1024

func (l *pipeline) readAll(ctx context.Context, next uint64, out chan<- part) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if through := l.through(); through > 0 && next > through {
			return nil
		}
		if l.config.UntilCaughtUp {
			if level, err := l.in.Level(ctx); err != nil || level {
				return err
			}
		}
		var err error
		if next, err = l.readBatch(ctx, next, out); err != nil {
			return err
		}
	}
}

// readBatch reads one batch, in parts, and returns the sequence after it. The batch ends at the
// limit of messages, of bytes or of time, and before a message of another month or of other rules.
// In a fleet the limits are the stream's part, until the batch takes a turn. A batch begins with a
// turn if the stream is known to be behind. The time limit does not apply while the stream has more
// messages than the batch has taken; with a turn, while it has any. The limit does not apply while
// an earlier batch is written, because a finished batch would only wait. Without messages readBatch
// waits for a second.
func (l *pipeline) readBatch(ctx context.Context, next uint64, out chan<- part) (uint64, error) {
	full := streamio.Limits{
		Messages: l.pace.of(l.config.BatchMessages, minBatchMessages), Bytes: l.pace.of(l.config.BatchBytes, minBatchBytes),
		Linger: l.config.Linger,
	}
	limits, more := l.turns.part(full), l.turns.more(full)
	behind := func(messages int) bool { return more.Messages > 0 && l.in.More() >= uint64(messages+minBatchMessages) }
	var rows *ledger.Batch
	grown := behind(limits.Messages)
	if grown {
		var err error
		if rows, err = l.take(ctx); err != nil {
			return next, err
		}
		limits = full
	}
	idle := time.Second
	var began time.Time
	for taken := 0; ; {
		some := limits
		some.Messages = min(limits.Messages, partMessages)
		messages, err := l.in.ReadBatch(ctx, some, idle)
		if err != nil {
			return next, err
		}
		if len(messages) == 0 && taken == 0 {
			if grown {
				l.give(rows)
			}
			return next, l.in.Check(ctx)
		}
		if taken == 0 {
			began = messages[0].Arrived
		}
		kept, expired := l.unexpired(ctx, next, messages)
		kept, beyond := upTo(l.through(), kept)
		taken += len(kept)
		limits.Messages -= len(kept)
		for _, m := range kept {
			limits.Bytes -= m.Size()
			next = m.Position.StreamSeq + 1
		}
		idle = l.config.Linger - time.Since(began)
		least := uint64(taken)
		if grown {
			least = 0 // a turn that ends early costs another one
		}
		if late := len(messages) < some.Messages || idle <= 0; late && l.in.More() > least {
			idle = l.config.Linger
		}
		inTime := idle > 0 && len(messages) > 0
		if !inTime && l.writing.Load() {
			idle, inTime = writingPause, true
		}
		limits.Linger = idle
		end := expired != nil || beyond > 0 || l.in.Cut() || !inTime
		grow := false
		if limits.Messages <= 0 || limits.Bytes <= 0 {
			grow = !end && !grown && behind(0)
			end = !grow
		}
		if err := hand(ctx, out, part{kept, end, grown, rows}); err != nil {
			return next, err
		}
		rows = nil
		if grow {
			if _, err := l.take(ctx); err != nil { // the batch has memory of its own already
				return next, err
			}
			limits.Messages, limits.Bytes = limits.Messages+more.Messages, limits.Bytes+more.Bytes
			grown, began = true, time.Now()
		}
		if end {
			return max(next, beyond), expired
		}
	}
}

// take waits for a turn, and returns the batch that comes with it.
func (l *pipeline) take(ctx context.Context) (*ledger.Batch, error) {
	select {
	case rows := <-l.turns.free:
		l.taken.Add(1)
		return rows, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give returns a turn, with a batch for reuse or nil.
func (l *pipeline) give(rows *ledger.Batch) {
	l.taken.Add(-1)
	l.turns.free <- rows
}

// upTo returns the messages up to a sequence, and the sequence of the first message after it. Both are
// without a limit if the sequence is 0.
func upTo(through uint64, messages []*streamio.Message) (kept []*streamio.Message, beyond uint64) {
	for i, m := range messages {
		if through > 0 && m.Position.StreamSeq > through {
			return messages[:i], m.Position.StreamSeq
		}
	}
	return messages, 0
}

// writingPause is the interval at which a batch whose time is up checks whether the earlier
// batch is written.
const writingPause = 5 * time.Millisecond

// unexpired checks messages, which are the first in the stream from sequence next on. A hole is
// a message that somebody deleted, unless the stream now begins after the hole. Then the
// message expired before it was projected, and unexpired returns the messages before the hole
// with an error. What left the stream before an empty ledger began has not expired.
func (l *pipeline) unexpired(ctx context.Context, next uint64, messages []*streamio.Message) ([]*streamio.Message, error) {
	for i, m := range messages {
		if m.Position.StreamSeq == next {
			next++
			continue
		}
		info, err := l.source.Stream.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the stream's state: %w", err)
		}
		if info.State.FirstSeq <= max(next, l.retained+1) {
			break // nothing expired in this batch; later holes are deletions, too
		}
		return messages[:i], streamio.Expired(next, info.State.FirstSeq-1)
	}
	return messages, nil
}

func (l *pipeline) buildAll(ctx context.Context, parts <-chan part, out chan<- batch) error {
	var a *assembly
	for some := range parts {
		if a == nil {
			var err error
			if a, err = l.builder.begin(ctx, some.rows); err != nil {
				return err
			}
		}
		if err := l.builder.add(ctx, a, some.messages); err != nil {
			return err
		}
		if !some.end {
			continue
		}
		if a.messages == 0 {
			if some.grown {
				l.give(a.rows)
				a = nil
			}
			continue
		}
		a.grown = some.grown
		made, err := l.builder.complete(ctx, a)
		if err != nil {
			return err
		}
		a = nil
		if err := hand(ctx, out, l.builder.depart(made)); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes batches in order. While it waits, it checks periodically whether the ledger
// still ends with the last commit. Otherwise a ledger that was restored from an older copy
// would stay behind until the next event.
func (l *pipeline) writeAll(ctx context.Context, ready <-chan batch) error {
	idle := time.NewTicker(checkEvery)
	defer idle.Stop()
	for {
		var err error
		select {
		case b, more := <-ready:
			if !more {
				return nil
			}
			if err = context.Cause(ctx); err == nil {
				began := time.Now()
				l.writing.Store(true)
				err = l.writer.write(ctx, b)
				l.writing.Store(false)
				l.pace.took(time.Since(began))
				switch {
				case b.grown && err == nil:
					l.give(b.rows)
				case b.grown:
					l.give(nil) // an insert that failed may still use the memory
				}
			}
		case <-idle.C:
			err = l.walk(ctx, []steps.Step{l.writer.checkStep()})
		}
		if err != nil {
			return err
		}
	}
}

// checkEvery is the interval of that check in an idle projector.
const checkEvery = 10 * time.Second

// pace makes batches smaller than their limits while the writes are slow. Then no insert comes
// near its time limit on a slow or busy server. The zero value uses the full limits. One
// goroutine may write while others read.
type pace struct{ halved atomic.Int32 }

const (
	// slowWrite is half of the time limit of an insert.
	slowWrite = 4 * time.Second
	// fastWrite is the time below which a batch of twice the size would not be slow either.
	fastWrite = slowWrite / 4
	// mostHalved leaves a 32nd of the limit.
	mostHalved = 5
)

// took records the duration of a write, whether it succeeded or not.
func (s *pace) took(d time.Duration) {
	switch n := s.halved.Load(); {
	case d > slowWrite && n < mostHalved:
		s.halved.Store(n + 1)
	case d < fastWrite && n > 0:
		s.halved.Store(n - 1)
	}
}

// of returns the share of a limit. The share is at least least, or the limit if that is
// smaller.
func (s *pace) of(limit, least int) int { return max(limit>>s.halved.Load(), min(limit, least)) }
