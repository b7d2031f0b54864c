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

// kill ends the inserts of earlier holders, and finds the last commit, which none
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

// load reads what events are held against, as of the last commit, unless this holder
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
