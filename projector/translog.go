package projector

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/signing"
)

// A streamLog is the transparency log of a stream, in the builder of batches. The leaves belong
// to the accepted events, in the order of the stream. The streamLog continues from the state in
// the last commit. The zero value keeps no transparency log.
type streamLog struct {
	decode.Leaves
	log *ledger.Log // includes all batches that are built; nil until it is read
}

// open uses the ring's secret for later events.
func (k *streamLog) open(ring proof.Ring) {
	k.Use(ring)
	k.log = nil
}

// readRing reads the key ring and opens the transparency log with it.
func (b *builder) readRing() error {
	if b.config.Ring == nil {
		return nil
	}
	ring, err := b.config.Ring()
	if err == nil {
		b.translog.open(ring)
	}
	return err
}

// leafAt is the leaf of an event, and the event's place.
type leafAt struct {
	leaf   tlog.Hash
	tenant string
	at     ledger.Position
}

// enter appends the leaves of a batch after all its messages are placed.
func (k *streamLog) enter(b *ledger.Batch, leaves []leafAt) {
	if k.None() {
		return
	}
	slices.SortFunc(leaves, func(a, b leafAt) int { return cmp.Compare(a.at.StreamSeq, b.at.StreamSeq) })
	tree := k.log.Tree.Clone()
	for _, l := range leaves {
		b.AddLeaf(&tree, l.leaf, l.tenant, l.at)
	}
	log := ledger.LogOf(tree)
	k.log, b.Log = &log, log
}

// readLog reads the transparency log as of the last commit, unless it is known. If the ledger
// has none, it begins here.
func (b *builder) readLog(ctx context.Context) error {
	if b.translog.log != nil {
		return nil
	}
	log, err := b.store.LogAt(ctx, b.source.Incarnation, b.committed.Load())
	switch {
	case err != nil:
		return err
	case b.translog.None() && !log.IsZero():
		return decode.ErrNoSecret
	case !b.translog.None() && log.IsZero():
		log = ledger.LogOf(proof.Tree{})
	}
	b.translog.log = &log
	return nil
}

// withoutLog builds batches without leaves until again is called, where the commit c has no
// leaves. A commit without leaves is older than the transparency log.
func (b *builder) withoutLog(c ledger.Commit) (again func()) {
	first := b.translog.First
	if c.Rows["log_hashes"] == 0 {
		b.translog.First = math.MaxUint64
	}
	return func() { b.translog.First, b.translog.log = first, nil }
}

// keepLog keeps the leaves of a commit that was derived again. keepLog applies where a message of
// the commit was deleted, so that the remaining messages give other leaves.
func (b *builder) keepLog(c ledger.Commit, rows *ledger.Batch) {
	if c.Rows["log_hashes"] == 0 || rows.Log.Root == c.Root {
		return
	}
	b.config.Log.Warn("messages were deleted from the stream, so the leaves of their commit cannot be derived again: if table log_hashes lacks these leaves, restore it, or rebuild",
		"event", "log_not_derivable", "first", c.First, "last", c.Last)
	rows.WithoutLog()
}

// startSigner returns nil where there are no heads to sign: without a ring, and for the tables
// of a rebuild.
func (p *Projector) startSigner(ctx context.Context) *signing.Signer {
	if p.config.Ring == nil || p.rebuild != nil || p.translog.None() {
		return nil
	}
	return signing.Start(ctx, signing.Target{
		Config: p.config.Signing, Ring: p.config.Ring, JetStream: p.config.JetStream, Ledger: p.config.Ledger,
		Stream: p.config.Stream, Incarnation: p.source.Incarnation, Meter: p.meter(), Log: p.config.Log,
	})
}

// tellLog has the head of the transparency log signed as of the last commit, in case the
// earlier projector did not sign it.
func (p *Projector) tellLog(ctx context.Context) error {
	if p.signer == nil {
		return nil
	}
	if err := p.readLog(ctx); err != nil {
		return err
	}
	p.signer.Committed(*p.translog.log, p.last.RecordedAt)
	return nil
}
