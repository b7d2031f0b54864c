package projector

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// beside makes a projector that of a rebuild: it has a lease and a journal of its
// own and changes no stream, but for one thing. A value that it finds withheld and
// the live projector did not, for want of a key, it deletes from the stream like
// that one would have, unless it is to be harmless.
type beside struct {
	harmless bool
	live     liveTables          // those that are rebuilt
	gone     []*streamio.Message // deleted from the stream for a withheld value, in order
}

// finds reports whether m is one that only the rebuild has recognised.
func (b *beside) finds(m decode.Event) bool { return m.Reintroduced && m.Kept == nil && !b.harmless }

// leaseKey is the key of the lease and the journal.
func (p *Projector) leaseKey() string {
	if p.beside != nil {
		return p.config.Stream + ".rebuild"
	}
	return lease.KeyOf(p.config.Stream)
}

// inherit takes the lease of older projectors, which a rebuild has nothing to do with.
func (p *Projector) inherit(ctx context.Context, kv jetstream.KeyValue) error {
	if p.beside != nil {
		return nil
	}
	return p.persist(ctx, "take the lease of an older projector", func() error {
		return p.claim(kv).Inherit(ctx, p.config.Stream)
	})
}

// live returns the live tables, which are not those that a rebuild writes.
func (p *Projector) live() liveTables {
	if p.beside != nil {
		return p.beside.live
	}
	return p.store
}

// finishSwap brings to its end what a rebuild was cut off in.
func (p *Projector) finishSwap(ctx context.Context) error {
	finished, err := p.store.FinishSwap(ctx)
	if finished {
		p.forget()
		p.config.Log.Warn("finished the swap of a rebuild that was cut off", "event", "swap_finished")
	}
	return err
}

// readGone returns the messages that were deleted from the streams for a withheld
// value, by stream, as the quarantine stream has them.
func readGone(ctx context.Context, js jetstream.JetStream) (map[uuid.UUID][]*streamio.Message, error) {
	gone := make(map[uuid.UUID][]*streamio.Message)
	err := quarantine.Read(ctx, js, string(schema.CodeReintroduced), time.Time{}, func(_ uint64, r ledger.Refusal, _ bool) error {
		m := &streamio.Message{Subject: r.Subject, Header: r.Header, Data: r.Data, Position: r.Position(), Kept: &r}
		gone[r.Incarnation] = append(gone[r.Incarnation], m)
		return nil
	})
	for id, list := range gone {
		slices.SortStableFunc(list, func(a, b *streamio.Message) int { return int(a.Position.StreamSeq) - int(b.Position.StreamSeq) })
		// A crash before the commit may have had a message copied twice.
		gone[id] = slices.CompactFunc(list, func(a, b *streamio.Message) bool { return a.Position.StreamSeq == b.Position.StreamSeq })
	}
	return gone, err
}
