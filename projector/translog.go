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

// A streamLog is a stream's transparency log as the builder of batches knows it. Its
// leaves follow from the events that are accepted, in the order of the stream; it
// goes on from the last commit, which has its state. The zero value keeps no log.
type streamLog struct {
	decode.Leaves
	log *ledger.Log // with all that is built; nil until it is read
}

// open takes the ring's secret for the events to come.
func (k *streamLog) open(ring proof.Ring) {
	k.Use(ring)
	k.log = nil
}

// readRing takes the ring.
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

// leafAt is the leaf of an event, and where that stands.
type leafAt struct {
	leaf   tlog.Hash
	tenant string
	at     ledger.Position
}

// enter appends the leaves of a batch, of which all messages are placed.
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

// readLog reads the log as of the last commit, unless it is known. Where there is
// none it begins here.
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

// withoutLog has what is built until it is called again have no leaves where the
// commit c has none: it is older than the log.
func (b *builder) withoutLog(c ledger.Commit) (again func()) {
	first := b.translog.First
	if c.Rows["log_hashes"] == 0 {
		b.translog.First = math.MaxUint64
	}
	return func() { b.translog.First, b.translog.log = first, nil }
}

// keepLog leaves the log of a commit that was derived again as it is, where what
// the stream still has of it gives other leaves: a message of it was deleted.
func (b *builder) keepLog(c ledger.Commit, rows *ledger.Batch) {
	if c.Rows["log_hashes"] == 0 || rows.Log.Root == c.Root {
		return
	}
	b.config.Log.Warn("messages that were events are gone from the stream, so the log's hashes of their commit cannot be derived again; where the table log_hashes lacks them, restore it, or rebuild",
		"event", "log_not_derivable", "first", c.First, "last", c.Last)
	rows.WithoutLog()
}

// startSigner returns nil where nothing is to be signed: without a ring, and for the
// tables of a rebuild.
func (p *Projector) startSigner(ctx context.Context) *signing.Signer {
	if p.config.Ring == nil || p.rebuild != nil || p.translog.None() {
		return nil
	}
	return signing.Start(ctx, signing.Target{
		Config: p.config.Signing, Ring: p.config.Ring, JetStream: p.config.JetStream, Ledger: p.config.Ledger,
		Stream: p.config.Stream, Incarnation: p.source.Incarnation, Meter: p.meter(), Log: p.config.Log,
	})
}

// tellLog has the log's head as of the last commit signed, where who made it did not
// come to that.
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
