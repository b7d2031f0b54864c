package projector

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// ErrNoSecret means that the ledger has a transparency log and this projector has
// not the secret that its salts derive from. Nothing is written, because the log
// would have a hole: give it the ring of the ledger.
var ErrNoSecret = errors.New("no_ledger_secret: the ledger has a transparency log, and its ring is not at hand: give --data the folder that has it, or copy the file keys/ledger.proof there")

// A book is a stream's transparency log as the builder of batches knows it. Its
// leaves follow from the events that are accepted, in the order of the stream; it
// goes on from the last commit, which has its state. The zero book keeps no log.
type book struct {
	secret  proof.Secret
	salters sync.Pool
	first   uint64      // events before this sequence have no leaf
	log     *ledger.Log // with all that is built; nil until it is read
}

// open takes the ring's secret for the events to come.
func (k *book) open(ring proof.Ring) {
	if !k.secret.Same(ring.Secret) {
		k.secret, k.salters = ring.Secret, sync.Pool{}
	}
	k.log = nil
}

// readRing takes the ring.
func (p *Projector) readRing() error {
	if p.config.Ring == nil {
		return nil
	}
	ring, err := p.config.Ring()
	if err == nil {
		p.book.open(ring)
	}
	return err
}

// leaves makes the leaves of messages that may become events, from the sequence
// first on. The zero value makes none. Not safe for concurrent use.
type leaves struct {
	salter *proof.Salter
	first  uint64
}

// leaves returns what makes the book's leaves; done takes it back.
func (k *book) leaves() leaves {
	if k == nil || k.secret.IsZero() {
		return leaves{}
	}
	salter, _ := k.salters.Get().(*proof.Salter)
	if salter == nil {
		salter = proof.NewSalter(k.secret)
	}
	return leaves{salter, k.first}
}

func (k *book) done(l leaves) {
	if l.salter != nil {
		k.salters.Put(l.salter)
	}
}

// leafAt is the leaf of an event, and where that stands.
type leafAt struct {
	leaf   tlog.Hash
	tenant string
	at     ledger.Position
}

// enter appends the leaves of a batch, of which all messages are placed.
func (k *book) enter(b *ledger.Batch, leaves []leafAt) {
	if k.secret.IsZero() {
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

// readLog reads the log as of the checkpoint, unless it is known. Where there is
// none it begins here.
func (p *Projector) readLog(ctx context.Context) error {
	if p.book.log != nil {
		return nil
	}
	log, err := p.store.LogAt(ctx, p.incarnation, p.committed.Load())
	switch {
	case err != nil:
		return err
	case p.book.secret.IsZero() && !log.IsZero():
		return ErrNoSecret
	case !p.book.secret.IsZero() && log.IsZero():
		log = ledger.LogOf(proof.Tree{})
	}
	p.book.log = &log
	return nil
}

// withoutLog has what is built until it is called again have no leaves where the
// commit c has none: it is older than the log.
func (p *Projector) withoutLog(c ledger.Commit) (again func()) {
	first := p.book.first
	if c.Rows["log_hashes"] == 0 {
		p.book.first = math.MaxUint64
	}
	return func() { p.book.first, p.book.log = first, nil }
}

// keepLog leaves the log of a commit that was derived again as it is, where what
// the stream still has of it gives other leaves: a message of it was deleted.
func (p *Projector) keepLog(c ledger.Commit, b *ledger.Batch) {
	if c.Rows["log_hashes"] == 0 || b.Log.Root == c.Root {
		return
	}
	p.config.Log.Warn("messages that were events are gone from the stream, so the log's hashes of their commit cannot be derived again; where the table log_hashes lacks them, restore it, or rebuild",
		"event", "log_not_derivable", "first", c.First, "last", c.Last)
	b.WithoutLog()
}

// tellLog has the log's head as of the last commit signed, where who made it did not
// come to that.
func (p *Projector) tellLog(ctx context.Context) error {
	if p.herald == nil {
		return nil
	}
	if err := p.readLog(ctx); err != nil {
		return err
	}
	p.herald.tell(*p.book.log, p.last.RecordedAt)
	return nil
}
