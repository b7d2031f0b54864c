package projector

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/leak"
)

// built is a batch that is ready to be written: its rows, and what is to be done
// beside writing them. It holds no message but the refused ones.
type built struct {
	ledger.Range
	outcome
	bytes  int // of the messages as they came
	links  []trace.Link
	stages []stage            // what was done before the batch's span could begin
	told   []leak.Withholding // what its redactions withhold
	landed chan struct{}      // closed once the batch is committed
}

// mark commits a range whose rows are stored. Only a range that was written
// before can have its row of commits removed while the server still knows its
// token, so only then it looks.
func (p *Projector) mark(ctx context.Context, b built) error {
	p.offered = b.batch.Range
	if err := p.store.Commit(ctx, b.batch, p.lease.Epoch()); err != nil {
		return err
	}
	if p.mayBeHeld() {
		if err := p.markAgain(ctx, b.batch); err != nil {
			return err
		}
	}
	p.last, p.looked = b.batch.Range, time.Now()
	p.signer.Committed(b.batch.Log, b.RecordedAt)
	rows := b.batch.Rows()
	if rows["redactions"] > 0 {
		if err := p.tellSiblings(ctx); err != nil {
			return err
		}
	}
	p.events.Add(rows["events"])
	p.quarantined.Add(rows["quarantine"])
	p.duplicates.Add(rows["duplicates"])
	p.counted(b, rows)
	p.committed.Store(b.Last)
	p.config.Log.Debug("committed", "first", b.First, "last", b.Last, "messages", b.Messages)
	return nil
}

// landed lets go of a batch that is committed.
func (p *Projector) landed(b built) {
	close(b.landed)
	select {
	case p.free <- b.batch:
	default:
	}
}
