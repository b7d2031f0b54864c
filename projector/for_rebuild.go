package projector

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// rebuilding is the state of a projector that belongs to a rebuild. This projector has a
// separate lease and journal. The projector changes no stream, with one exception. The
// projector deletes a message whose withheld value the live projector missed for lack of a key.
// With harmless it does not delete.
type rebuilding struct {
	harmless bool
	live     erasure.LiveTables // the tables that are rebuilt
	gone     streamio.Gone      // messages that were deleted from the stream for a withheld value
	through  func() uint64      // the last sequence to project; nil for the end of the stream
}

// ForRebuild makes a projector that fills the second set of tables.
func ForRebuild(t rebuild.Target) (rebuild.Projector, error) {
	c := DefaultConfig(t.JetStream, t.Set)
	c.Stream, c.Owner, c.UntilCaughtUp, c.Keys, c.Ring, c.Log = t.Stream, t.Owner, true, t.Keys, t.Ring, t.Log
	c.Timing, c.Steps = t.Timing, t.Steps
	if t.BatchMessages > 0 {
		c.BatchMessages = t.BatchMessages
	}
	c.Shards = t.Shards
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	p.translog.First = t.FirstLeaf
	p.rebuild = &rebuilding{harmless: t.CompareOnly, live: tablesOf(t.Ledger, t.Shards...), gone: t.Gone, through: t.Through}
	return p, nil
}

// Progress returns the last committed sequence, and the number of messages that have become
// rows.
func (p *Projector) Progress() (committed, messages uint64) {
	s := p.Status()
	return s.Committed, s.Events + s.Duplicates + s.Quarantined
}

// finds reports whether only the rebuild has recognised the withheld value in e.
func (b *rebuilding) finds(e decode.Event) bool {
	return e.Reintroduced && e.Kept == nil && !b.harmless
}

// through returns the last sequence to project, or 0 for no limit.
func (s *shared) through() uint64 {
	if s.rebuild == nil || s.rebuild.through == nil {
		return 0
	}
	return s.rebuild.through()
}

// leaseKey is the key of the lease and the journal.
func (p *Projector) leaseKey() string {
	if p.rebuild != nil {
		return p.config.Stream + ".rebuild"
	}
	return lease.KeyOf(p.config.Stream)
}

// inherit takes over the lease of older projectors. A rebuild skips this step.
func (p *Projector) inherit(ctx context.Context, kv jetstream.KeyValue) error {
	if p.rebuild != nil {
		return nil
	}
	return p.persist(ctx, "take the lease of an older projector", func() error {
		return p.claim(kv).Inherit(ctx, p.config.Stream)
	})
}

// live returns the live tables. In a rebuild they differ from the tables that it writes.
func (s *shared) live() erasure.LiveTables {
	if s.rebuild != nil {
		return s.rebuild.live
	}
	return s.store
}

// finishSwap finishes the swap of a rebuild that was interrupted.
func (rc *recovery) finishSwap(ctx context.Context) error {
	finished, err := rc.store.FinishSwap(ctx)
	if finished {
		rc.forget()
		rc.config.Log.Warn("finished the swap of a rebuild that was interrupted", "event", "swap_finished")
	}
	return err
}
