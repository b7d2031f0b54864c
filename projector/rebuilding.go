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

// rebuilding makes a projector that of a rebuild: it has a lease and a journal of its
// own and changes no stream, but for one thing. A value that it finds withheld and
// the live projector did not, for want of a key, it deletes from the stream like
// that one would have, unless it is to be harmless.
type rebuilding struct {
	harmless bool
	live     erasure.LiveTables  // those that are rebuilt
	gone     []*streamio.Message // deleted from the stream for a withheld value, in order
}

// ForRebuild makes a projector that fills the second set of tables.
func ForRebuild(t rebuild.Target) (rebuild.Projector, error) {
	c := DefaultConfig(t.JetStream, t.Set)
	c.Stream, c.Owner, c.UntilCaughtUp, c.Keys, c.Ring, c.Log = t.Stream, t.Owner, true, t.Keys, t.Ring, t.Log
	c.Timing, c.Steps = t.Timing, t.Steps
	if t.BatchMessages > 0 {
		c.BatchMessages = t.BatchMessages
	}
	p, err := New(c)
	if err != nil {
		return nil, err
	}
	p.translog.First = t.FirstLeaf
	p.rebuild = &rebuilding{harmless: t.CompareOnly, live: tablesOf(t.Ledger), gone: t.Gone}
	return p, nil
}

// Progress returns the last committed sequence, and how many messages have become rows.
func (p *Projector) Progress() (committed, messages uint64) {
	s := p.Status()
	return s.Committed, s.Events + s.Duplicates + s.Quarantined
}

// finds reports whether e is one that only the rebuild has recognised.
func (b *rebuilding) finds(e decode.Event) bool {
	return e.Reintroduced && e.Kept == nil && !b.harmless
}

// leaseKey is the key of the lease and the journal.
func (p *Projector) leaseKey() string {
	if p.rebuild != nil {
		return p.config.Stream + ".rebuild"
	}
	return lease.KeyOf(p.config.Stream)
}

// inherit takes the lease of older projectors, which a rebuild has nothing to do with.
func (p *Projector) inherit(ctx context.Context, kv jetstream.KeyValue) error {
	if p.rebuild != nil {
		return nil
	}
	return p.persist(ctx, "take the lease of an older projector", func() error {
		return p.claim(kv).Inherit(ctx, p.config.Stream)
	})
}

// live returns the live tables, which are not those that a rebuild writes.
func (s *shared) live() erasure.LiveTables {
	if s.rebuild != nil {
		return s.rebuild.live
	}
	return s.store
}

// finishSwap brings to its end what a rebuild was cut off in.
func (rc *recovery) finishSwap(ctx context.Context) error {
	finished, err := rc.store.FinishSwap(ctx)
	if finished {
		rc.forget()
		rc.config.Log.Warn("finished the swap of a rebuild that was cut off", "event", "swap_finished")
	}
	return err
}
