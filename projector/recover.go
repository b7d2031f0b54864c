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
//  2. the last committed range is read again and must have the same digest;
//  3. a journalled range above it is read again, with the same cut, and
//     written again with the same tokens.
func (p *Projector) recover(ctx context.Context) (uint64, error) {
	if err := p.persist(ctx, "kill earlier inserts", func() error { return p.config.Ledger.KillInserts(ctx, p.incarnation) }); err != nil {
		return 0, err
	}
	if err := p.loadIdentities(ctx); err != nil {
		return 0, err
	}
	var last ledger.Range
	var found bool
	if err := p.persist(ctx, "read last commit", func() (err error) {
		last, found, err = p.config.Ledger.LastCommit(ctx, p.incarnation)
		return err
	}); err != nil {
		return 0, err
	}
	info, err := p.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at the stream: %w", err)
	}
	if found {
		p.committed.Store(last.Last)
		if info.State.LastSeq < last.Last {
			return 0, fmt.Errorf("%w: it ends at %d, below the checkpoint %d", ErrStreamForked, info.State.LastSeq, last.Last)
		}
		if info.State.FirstSeq <= last.First {
			if _, err := p.readAgain(ctx, last); err != nil {
				return 0, err
			}
		}
	}
	next := last.Last + 1
	if info.State.Msgs > 0 && info.State.FirstSeq > next {
		return 0, fmt.Errorf("%w: sequences %d to %d are gone from the stream", ErrEventsExpired, next, info.State.FirstSeq-1)
	}
	pending := p.lease.Pending()
	if pending == nil || pending.Incarnation != p.incarnation || pending.First != next {
		return next, nil
	}
	messages, err := p.readAgain(ctx, *pending)
	if err != nil {
		return 0, err
	}
	p.config.Log.Info("finishing a journalled range", "first", pending.First, "last", pending.Last)
	return pending.Last + 1, p.commit(ctx, messages)
}

// readAgain reads exactly the range r. Another count or digest means that the
// stream is not the one that r came from.
func (p *Projector) readAgain(ctx context.Context, r ledger.Range) ([]*message, error) {
	in, err := newReader(ctx, p.stream, p.incarnation, r.First)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var all []*message
	for uint64(len(all)) < r.Messages {
		limits := batchLimits{messages: int(r.Messages) - len(all), bytes: 1 << 62, linger: 5 * time.Second, last: r.Last}
		messages, err := in.readBatch(ctx, limits, 5*time.Second)
		if err != nil {
			return nil, err
		}
		if len(messages) == 0 {
			break
		}
		all = append(all, messages...)
	}
	if len(all) == 0 || !rangeOf(all).Same(r) {
		return nil, fmt.Errorf("%w: sequences %d to %d read differently now", ErrStreamForked, r.First, r.Last)
	}
	return all, nil
}
