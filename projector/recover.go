package projector

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
)

// recover brings ledger and stream to agreement before the first batch, and
// returns the sequence to go on from:
//
//  1. inserts that an earlier writer left running are killed;
//  2. the last committed range is read again and must be what was committed;
//  3. a journalled range above it is finished, or undone, see settle.
func (p *Projector) recover(ctx context.Context) (uint64, error) {
	l := p.config.Ledger
	if err := p.persist(ctx, "kill earlier inserts", func() error { return l.KillInserts(ctx, p.incarnation) }); err != nil {
		return 0, err
	}
	var last ledger.Range
	var found bool
	if err := p.persist(ctx, "read last commit", func() (err error) {
		last, found, err = l.LastCommit(ctx, p.incarnation)
		return err
	}); err != nil {
		return 0, err
	}
	info, err := p.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at the stream: %w", err)
	}
	next := last.Last + 1
	switch state := info.State; {
	case !found:
		if next = max(1, state.FirstSeq); next > 1 {
			p.config.Log.Warn("the ledger begins with the first message that the stream still has", "first", next)
		}
	case state.LastSeq < last.Last:
		return 0, fmt.Errorf("%w: it ends at %d, below the checkpoint %d", ErrStreamForked, state.LastSeq, last.Last)
	case state.FirstSeq > next:
		return 0, expired(next, state.FirstSeq-1)
	case state.FirstSeq <= last.First:
		if err := p.verify(ctx, last); err != nil {
			return 0, err
		}
	}
	p.committed.Store(next - 1)
	if p.seen == nil {
		if err := p.loadIdentities(ctx); err != nil {
			return 0, err
		}
	}
	if pending := p.lease.Pending(); pending != nil {
		if err := p.settle(ctx, *pending); err != nil {
			return 0, err
		}
	}
	return p.committed.Load() + 1, nil
}

// verify reads the last committed range again. Messages may have been deleted
// from it since; the others must be what they were.
func (p *Projector) verify(ctx context.Context, r ledger.Range) error {
	messages, err := p.readRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	if len(messages) > 0 && rangeOf(messages).Same(r) {
		return nil
	}
	forked := fmt.Errorf("%w: sequences %d to %d read differently now", ErrStreamForked, r.First, r.Last)
	if uint64(len(messages)) >= r.Messages {
		return forked
	}
	var digests map[uint64][32]byte
	if err := p.persist(ctx, "read digests", func() (err error) {
		digests, err = p.config.Ledger.Digests(ctx, r)
		return err
	}); err != nil {
		return err
	}
	for _, m := range messages {
		if want, ok := digests[m.position.StreamSeq]; ok && parse(m).digest != want {
			return forked
		}
	}
	return nil
}

// settle ends what an earlier holder of the lease had begun. A range at or
// below the checkpoint is done. The one right above it, if the stream still
// holds it, is written again with the same cut and tokens; if not, what was
// written of it is removed, because no stream will bring these messages again.
//
// A range further above means that commits is older than the journal. Then its
// rows are not touched: they are written again in their turn, and their tokens,
// which the server remembers, would keep removed ones from coming back.
func (p *Projector) settle(ctx context.Context, pending ledger.Range) error {
	l := p.config.Ledger
	if pending.Incarnation == p.incarnation {
		next := p.committed.Load() + 1
		if pending.First < next {
			return nil
		}
		messages, err := p.readRange(ctx, next, pending.Last, pending.Messages)
		switch {
		case err != nil:
			return err
		case len(messages) > 0 && rangeOf(messages).Same(pending):
			p.config.Log.Info("finishing a journalled range", "first", pending.First, "last", pending.Last)
			return p.commit(ctx, messages)
		case len(messages) > 0 && messages[0].position.StreamSeq < pending.First:
			return nil
		}
	} else {
		var last ledger.Range
		if err := p.persist(ctx, "read last commit", func() (err error) {
			last, _, err = l.LastCommit(ctx, pending.Incarnation)
			return err
		}); err != nil {
			return err
		}
		if pending.First != last.Last+1 {
			return nil
		}
	}
	p.config.Log.Warn("removing what was written of a journalled range that the stream no longer holds",
		"incarnation", pending.Incarnation, "first", pending.First, "last", pending.Last)
	return p.persist(ctx, "discard", func() error {
		if err := l.KillInserts(ctx, pending.Incarnation); err != nil {
			return err
		}
		return l.Discard(ctx, pending)
	})
}

// readRange reads the messages that the stream holds from first to last, and
// stops early once it has seen more than limit.
func (p *Projector) readRange(ctx context.Context, first, last, limit uint64) ([]*message, error) {
	in, err := newReader(ctx, p.stream, p.incarnation, first)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var all []*message
	for uint64(len(all)) <= limit {
		if level, err := in.level(ctx); err != nil || level {
			return all, err
		}
		messages, err := in.readBatch(ctx, batchLimits{messages: prefetch, bytes: 1 << 62, linger: time.Second, last: last}, time.Second)
		if err != nil {
			return nil, err
		}
		if len(messages) == 0 {
			if err := in.check(ctx); err != nil {
				return nil, err
			}
		}
		for _, m := range messages {
			if m.position.StreamSeq > last {
				return all, nil
			}
			if all = append(all, m); m.position.StreamSeq == last {
				return all, nil
			}
		}
	}
	return all, nil
}
