package projector

import (
	"context"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/hole"
	"github.com/ctxledger/ctxledger/projector/identity"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/schema"
)

// A builder makes batches of messages, in the order of the stream. It knows what the
// ledger has up to the last commit, and what is in flight to it. It belongs to one
// goroutine.
type builder struct {
	*shared
	seen     *identity.Filter // of all events in the ledger; nil until it is loaded
	withheld *leak.Values
	unknown  map[leak.UnknownKey]bool
	translog streamLog
	holes    hole.Finder
	flights  []flight
	free     chan *ledger.Batch // batches to use again
	model    *ledger.Batch      // the last that was built; nil before
	firsts   int                // how many firsts that had
}

func newBuilder(s *shared) *builder {
	return &builder{shared: s, unknown: make(map[leak.UnknownKey]bool), free: make(chan *ledger.Batch, 2)}
}

// awaitCommits waits until the ledger holds everything that is in flight.
func (b *builder) awaitCommits(ctx context.Context) error {
	for _, f := range b.flights {
		select {
		case <-f.landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b.flights = nil
	return nil
}

// depart makes a batch count for what comes after it, as one that is in flight
// until it is committed: by its events, and by what its redactions withhold.
func (b *builder) depart(made batch) batch {
	conflicts := make(map[uint64]bool, len(made.quarantined))
	for _, e := range made.quarantined {
		conflicts[e.Position.StreamSeq] = true
	}
	for _, r := range made.withholds {
		if !conflicts[r.Sequence] {
			b.withheld.LearnOf(r)
		}
	}
	b.flights = append(b.flights, flight{made.First, made.landed, made.firsts})
	return made
}

// known finds out about the identities of messages of a batch that begins at the
// sequence first, from the ledger and from what is in flight to it. Where several
// streams have brought an event, this stream's own first message counts, as it did
// when it was derived for the first time. What the ledger has of this stream beyond
// what has landed counts for nothing: it is in flight or in the batch as well, or is
// of messages that the stream no longer holds.
func (b *builder) known(ctx context.Context, messages []decode.Event, first uint64) (map[decode.Identity]ledger.Known, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	hits := make([]uint64, len(messages))
	for i, e := range messages {
		hits[i] = e.Hash
	}
	found, err := b.store.Lookup(ctx, hits)
	if err != nil {
		return nil, err
	}
	if len(b.flights) > 0 {
		first = min(first, b.flights[0].first)
	}
	known := make(map[decode.Identity]ledger.Known, len(found))
	for _, k := range found {
		own := k.Position.Incarnation == b.source.Incarnation
		if own && k.Position.StreamSeq >= first || b.siblings.brought(k.Position.Incarnation) {
			continue
		}
		for _, id := range []decode.Identity{{Source: k.Source, ID: k.EventID}, {Tenant: schema.TenantOf(k.Tenant), Source: k.Source, ID: k.EventID}} {
			earlier, again := known[id]
			if !again || own && (earlier.Position.Incarnation != b.source.Incarnation || k.Position.StreamSeq < earlier.Position.StreamSeq) {
				known[id] = k
			}
		}
	}
	for _, f := range b.flights {
		for _, e := range messages {
			if first, ok := f.firsts.of(e); ok {
				known[e.Identity()] = first
			}
		}
	}
	return known, nil
}

// loadIdentities fills a filter from the ledger, but for what other streams have
// brought, sized to grow by half of what is there.
func (b *builder) loadIdentities(ctx context.Context) (err error) {
	var seen *identity.Filter
	err = b.store.Identities(ctx, b.siblings.incarnations,
		func(most uint64) { seen = identity.New(max(identity.Least, 3*most/2)) },
		func(identity uint64) { seen.Add(identity) })
	if err == nil { // a filter of a part of them would take others for new
		b.seen = seen
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
// up to the last commit and no others, or a message in front of its redaction would
// be refused.
func (b *builder) forget() { b.seen, b.withheld = nil, nil }

// noteHoles says of sequences that are lost.
func (b *builder) noteHoles(messages []decode.Event) {
	if b.rebuild != nil {
		return // the live projector has said it
	}
	const most = 5 // lines of the log a batch
	found := b.holes.Found
	lost := b.holes.Observe(messages)
	if came := b.holes.Found - found; came > 0 {
		b.config.Log.Info("facts that were given up for lost have come", "event", "producer_gap_closed", "facts", came)
	}
	for _, l := range lost[:min(most, len(lost))] {
		b.config.Log.Warn("facts that a producer has numbered did not come: see whether its outbox still has them; `ctxledger query --sql 'SELECT * FROM check_sequence_gaps'` lists all such gaps",
			"event", "producer_gap", "source", l.Source, "session", l.Session, "first", l.First, "last", l.Last, "others", max(0, len(lost)-most))
	}
	b.meter().Loss(b.holes.Lost - b.counts.lost.Load())
	b.counts.lost.Store(b.holes.Lost)
}
