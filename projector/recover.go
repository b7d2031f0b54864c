package projector

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A recovery brings ledger and stream to agreement, before batches are built and written.
type recovery struct {
	*shared
	*builder
	*writer
}

// open opens the stream anew, with all that is known of it.
func (rc *recovery) open(ctx context.Context) (err error) {
	if rc.source, err = streamio.OpenSource(ctx, rc.config.JetStream, rc.config.Stream, rc.live(), rc.config.Log); err != nil {
		return err
	}
	changed, err := rc.siblings.open(ctx, rc.config.JetStream, rc.source.Stream)
	if changed {
		rc.forget()
	}
	if err != nil {
		return err
	}
	if err := rc.readRing(); err != nil {
		return fmt.Errorf("read the ring of the ledger: %w", err)
	}
	var gone []*streamio.Message
	if rc.rebuild != nil {
		gone = rc.rebuild.gone
	}
	return erasure.ReadAbsent(ctx, rc.config.JetStream, &rc.source, gone, rc.live(), rc.config.Log)
}

// kill ends the inserts of earlier holders, and finds the checkpoint, which none
// of them can move any more.
func (rc *recovery) kill(ctx context.Context) error {
	if err := rc.store.KillInserts(ctx, rc.source.Incarnation); err != nil {
		return err
	}
	last, found, err := rc.store.LastCommit(ctx, rc.source.Incarnation)
	if err != nil {
		return err
	}
	if !found {
		last = ledger.Range{}
	}
	if !last.Same(rc.last) && !(found && last.Same(rc.offered)) {
		rc.forget()
	}
	rc.last, rc.offered, rc.checked = last, ledger.Range{}, time.Now()
	return nil
}

// load reads what events are held against, as of the checkpoint, unless this holder
// knows it: an hour of failures must not be an hour of reading every identity.
func (rc *recovery) load(ctx context.Context) error {
	if err := rc.recall(ctx, rc.last.Last); err != nil {
		return err
	}
	if rc.seen == nil {
		if err := rc.loadIdentities(ctx); err != nil {
			return err
		}
	}
	last := rc.last
	last.Incarnation = rc.source.Incarnation
	held, err := rc.store.LastHeld(ctx, last)
	rc.doubtful, rc.translog.log = held, nil
	if err == nil {
		err = rc.readLog(ctx)
	}
	if rc.journalled.Incarnation == rc.source.Incarnation {
		// Where all tables are older copies they do not hold it, and the server may
		// still know the tokens.
		rc.doubtful = max(held, rc.journalled.Last)
	}
	return err
}

// forget lets go of what events are held against, when the ledger may hold what
// this holder has not written: it lost the lease, the last commit is neither the
// one that it made last nor the one that it was making, the streams or the tables
// are others.
//
// Otherwise it knows all that the ledger has. The filter has every identity of the
// batches that it built, those that were not written, too: that costs a look-up. An
// older copy of a table has fewer. The withheld values are those of the redactions
// up to the checkpoint and no others, or a message in front of its redaction would
// be refused.
func (b *builder) forget() { b.seen, b.withheld = nil, nil }
