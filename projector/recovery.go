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

// clockSkew is how far the clocks of this machine and of the stream's server may differ.
const clockSkew = time.Hour

// open opens the stream again, with its metadata, its siblings and its absent messages.
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
		return fmt.Errorf("read the key ring of the ledger: %w", err)
	}
	var gone []*streamio.Message
	if rc.rebuild != nil {
		opened := time.Now()
		if gone, err = rc.rebuild.gone(ctx, time.Time{}); err != nil {
			return err
		}
		rc.source.Later = func(ctx context.Context) ([]*streamio.Message, error) {
			return rc.rebuild.gone(ctx, opened.Add(-clockSkew))
		}
	}
	return erasure.ReadAbsent(ctx, rc.config.JetStream, &rc.source, gone, rc.live(), rc.config.Log)
}

// kill ends the inserts of earlier holders, and finds the last commit. Afterwards no earlier
// holder can add a commit.
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
	if !found { // an older copy of the tables may have fewer redactions of other streams, and no commit tells
		rc.withheld = nil
	}
	rc.last, rc.offered, rc.checked = last, ledger.Range{}, time.Now()
	return nil
}

// load reads the identities and the withheld values as of the last commit. load skips values that
// this holder still has in memory, so that repeated failures do not cause repeated reads of all
// identities.
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
		// If all tables are older copies, they lack the journalled rows, and the server may
		// still know their tokens.
		rc.doubtful = max(held, rc.journalled.Last)
	}
	return err
}
