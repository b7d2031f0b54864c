package projector

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/hole"
	"github.com/ctxledger/ctxledger/projector/identity"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/schema"
)

// A builder makes batches of messages, in the order of the stream. The builder knows the
// contents of the ledger up to the last commit and the batches in flight. One goroutine owns a
// builder.
type builder struct {
	*shared
	seen     *identity.Filter // of all events in the ledger; nil until it is loaded
	withheld *leak.Values
	later    laterValues // in a rebuild, what is not in withheld yet
	unknown  map[leak.UnknownKey]bool
	bare     map[string]bool // tenants with redactions that have no fingerprint
	translog streamLog
	holes    hole.Finder
	flights  []flight
	free     chan *ledger.Batch // batches for reuse
	model    *ledger.Batch      // the last batch without a turn; nil before the first, and while it is filled again
	firsts   int                // the number of firsts in model
}

func newBuilder(s *shared) *builder {
	return &builder{shared: s, unknown: make(map[leak.UnknownKey]bool), bare: make(map[string]bool), free: make(chan *ledger.Batch, 2)}
}

// awaitCommits waits until all batches in flight are committed.
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

// depart puts a batch in flight until it is committed. From now on its events and the values
// that its redactions withhold count for later batches.
func (b *builder) depart(made batch) batch {
	conflicts := make(map[uint64]bool, len(made.quarantined))
	for _, e := range made.quarantined {
		conflicts[e.Position.StreamSeq] = true
	}
	changes := slices.DeleteFunc(slices.Clone(made.changes), func(c leak.Change) bool { return conflicts[c.Sequence] })
	for _, c := range leak.Remaining(changes) {
		b.withheld.Apply(c)
	}
	b.flights = append(b.flights, flight{made.First, made.landed, made.firsts})
	return made
}

// known looks up the identities of messages, in the ledger and in the batches in flight. Where
// several streams hold an event, the first message of this stream counts, as in the first
// derivation. Rows of this stream from the sequence first on do not count. For a new batch, that
// is its beginning: the messages of these rows are in flight, are in the batch, or are gone from
// the stream.
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

// loadIdentities fills a filter from the ledger, without the events of other streams. The
// filter has room for half as many more.
func (b *builder) loadIdentities(ctx context.Context) (err error) {
	var seen *identity.Filter
	err = b.store.Identities(ctx, b.siblings.incarnations,
		func(most uint64) { seen = identity.New(max(identity.Least, 3*most/2)) },
		func(identity uint64) { seen.Add(identity) })
	if err == nil { // an incomplete filter would take known events for new ones
		b.seen = seen
	}
	return err
}

// forget drops the identities and the withheld values when the ledger may hold rows of another
// holder. Four cases need it: the lease was lost, the last commit is unknown to this holder,
// the streams changed, or the tables changed.
//
// In all other cases these values are complete. The filter holds the identities of all built
// batches, including unwritten ones. An extra identity costs a look-up. An older copy of a
// table holds fewer identities. The withheld values must come from the redactions up to the
// last commit. With more of them, a message before its redaction would be refused.
func (b *builder) forget() { b.seen, b.withheld = nil, nil }

// noteHoles logs and counts lost sequences.
func (b *builder) noteHoles(messages []decode.Event) {
	if b.rebuild != nil {
		return // the live projector has logged them
	}
	const most = 5 // lines of the log for each batch
	found := b.holes.Found
	lost := b.holes.Observe(messages)
	if came := b.holes.Found - found; came > 0 {
		b.config.Log.Info("facts that were counted as lost have arrived", "event", "producer_gap_closed", "facts", came)
	}
	for _, l := range lost[:min(most, len(lost))] {
		b.config.Log.Warn("numbered facts of a producer did not arrive: check whether its outbox still has them. `ctxledger query --sql 'SELECT * FROM check_sequence_gaps'` lists all gaps",
			"event", "producer_gap", "source", l.Source, "session", l.Session, "first", l.First, "last", l.Last, "others", max(0, len(lost)-most))
	}
	b.meter().Loss(b.holes.Lost - b.counts.lost.Load())
	b.counts.lost.Store(b.holes.Lost)
}
