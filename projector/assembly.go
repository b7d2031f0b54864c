package projector

import (
	"context"
	"crypto/sha256"
	"hash"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// assembly is a batch under construction. An assembly takes messages part by part, in the order
// of the stream. Messages become rows on arrival and are then released. Only messages whose
// identity may be known wait for the end of the batch. The cut into calls of add does not
// affect the tables.
type assembly struct {
	batch
	sums        hash.Hash // over the digests of the messages
	first, last ledger.Position
	messages    uint64
	again       uint64       // last sequence of the committed range that the batch derives again; 0 for a new batch
	fresh       *leak.Values // the values that the batch's own redactions withhold
	unsure      []decode.Event
	fetched     time.Time // when the first message arrived
	began       time.Time // when the work on the first message began
	decoding    time.Duration
}

// begin returns an empty assembly. begin uses the memory of rows, which may be nil, or of another committed batch.
func (b *builder) begin(ctx context.Context, rows *ledger.Batch) (*assembly, error) {
	if b.seen.Full() {
		if err := b.awaitCommits(ctx); err != nil {
			return nil, err
		}
		b.seen = nil // frees memory before the new filter is built
		if err := b.loadIdentities(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.hearSiblings(ctx); err != nil {
		return nil, err
	}
	if !b.translog.None() {
		if err := b.readLog(ctx); err != nil {
			return nil, err
		}
	}
	a := &assembly{sums: sha256.New(), fresh: leak.NewValues(b.withheld.Keys)}
	a.firsts = make(firsts, b.firsts)
	if rows == nil {
		select {
		case rows = <-b.free:
		default:
			a.rows = ledger.NewBatch(b.model)
			return a, nil
		}
	}
	if rows == b.model { // with a turn, other streams fill it later
		b.model = nil
	}
	rows.Reset(ledger.Range{})
	a.rows = rows
	return a, nil
}

// add decodes messages, masks the withheld values, and adds the rows of messages that are
// certainly new or certainly quarantined.
func (b *builder) add(ctx context.Context, a *assembly, messages []*streamio.Message) error {
	if len(messages) == 0 {
		return nil
	}
	began := time.Now()
	events := decode.All(messages, &b.translog.Leaves)
	if err := b.renewKeys(ctx, a, events); err != nil {
		return err
	}
	arrived := messages[0].Arrived
	for len(events) > 0 {
		part := events[:leak.UntilRevocation(events[:b.later.learn(b.withheld, events)])]
		if err := b.addPart(ctx, a, part, arrived, began); err != nil {
			return err
		}
		events, began = events[len(part):], time.Now()
	}
	return nil
}

// addPart adds events. Only the last of them may be a revocation.
func (b *builder) addPart(ctx context.Context, a *assembly, events []decode.Event, arrived, began time.Time) error {
	events, void, err := b.mask(ctx, a, events)
	if err != nil {
		return err
	}
	b.noteUnknown(leak.OfAll(events))
	b.noteBare(events)
	a.extend(events, arrived, began)
	b.noteHoles(events)
	if b.config.Tracer != nil {
		a.links = linksOf(a.links, events)
	}
	for _, e := range events {
		a.take(e)
		if !void[e.Position.StreamSeq] {
			a.tell(e)
		}
		if len(e.Violations) == 0 && b.seen.Maybe(e.Hash) {
			a.unsure = append(a.unsure, e)
			continue
		}
		if len(e.Violations) == 0 {
			b.seen.Add(e.Hash)
		}
		a.place(e, nil)
	}
	if n := len(a.changes); n > 0 && a.changes[n-1].Revokes && a.changes[n-1].Sequence == a.last.StreamSeq {
		return b.reload(ctx, a)
	}
	return nil
}

// reload loads the withheld values again in the middle of a batch, without the redactions that the
// batch revokes.
func (b *builder) reload(ctx context.Context, a *assembly) error {
	if err := b.awaitCommits(ctx); err != nil { // then the ledger holds all earlier redactions
		return err
	}
	var revoked []privacy.Redaction
	for _, c := range a.changes {
		if c.Revokes {
			revoked = append(revoked, c.Redaction())
		}
	}
	if err := b.loadWithheld(ctx, revoked...); err != nil {
		return err
	}
	for _, c := range a.changes {
		if c.Revokes {
			b.withheld.Apply(c)
		}
	}
	a.fresh = leak.NewValues(b.withheld.Keys)
	a.fresh.LearnAll(leak.Remaining(a.changes))
	return nil
}

// renewKeys loads the withheld values again where events name a key that was added later.
func (b *builder) renewKeys(ctx context.Context, a *assembly, events []decode.Event) error {
	found, err := b.findKeys(ctx, events)
	if err != nil || !found {
		return err
	}
	return b.reload(ctx, a)
}

// mask masks the withheld values in events. mask also returns the sequences of redactions that
// change nothing, because an earlier message has their id.
func (b *builder) mask(ctx context.Context, a *assembly, events []decode.Event) (masked []decode.Event, void map[uint64]bool, err error) {
	first := events[0].Position.StreamSeq
	if a.messages > 0 {
		first = a.first.StreamSeq
	}
	known, err := b.knownRedactions(ctx, events, max(first, a.again+1))
	if err != nil {
		return nil, nil, err
	}
	void = make(map[uint64]bool)
	masked = b.withheld.FindAfter(a.fresh, events, func(earlier []decode.Event, e decode.Event) bool {
		void[e.Position.StreamSeq] = a.repeats(known, earlier, e)
		return !void[e.Position.StreamSeq]
	})
	return masked, void, nil
}

// extend adds events to the batch. The first of them arrived at arrived, and the work on it
// began at began.
func (a *assembly) extend(events []decode.Event, arrived, began time.Time) {
	if a.messages == 0 {
		a.first, a.fetched, a.began = events[0].Position, arrived, began
		a.rows.Rules = max(events[0].Rules, ledger.EnvelopeRules)
	}
	a.last = events[len(events)-1].Position
	a.decoding += time.Since(began)
}

// tell adds the changes of redactions and revocations.
func (a *assembly) tell(e decode.Event) {
	if len(e.Violations) > 0 {
		return
	}
	a.changes = append(a.changes, leak.ChangesOf(e.Position.StreamSeq, e.Envelope, e.Fact)...)
}

// knownRedactions looks up the redactions and revocations among messages whose identity may be
// known. Redactions cannot wait for the end of the batch, because a redaction that counts changes
// the result of later messages.
func (b *builder) knownRedactions(ctx context.Context, all []decode.Event, first uint64) (map[decode.Identity]ledger.Known, error) {
	var unsure []decode.Event
	for _, e := range all {
		if len(e.Violations) == 0 && b.seen.Maybe(e.Hash) && len(leak.ChangesOf(0, e.Envelope, e.Fact)) > 0 {
			unsure = append(unsure, e)
		}
	}
	known, err := b.known(ctx, unsure, first)
	if err != nil {
		return nil, &steps.Error{Verb: "look up identities", Err: err}
	}
	return known, nil
}

// repeats reports whether an earlier message has the id of e, with the same event or another one.
// The earlier message is known, or is in this batch. Messages in earlier are in the batch but not
// yet placed.
func (a *assembly) repeats(known map[decode.Identity]ledger.Known, earlier []decode.Event, e decode.Event) bool {
	id := e.Identity()
	first, again := a.firsts.of(e)
	if !again {
		first, again = known[id]
	}
	if again && before(first.Position, e.Position) {
		return true
	}
	for _, some := range [][]decode.Event{a.unsure, earlier} {
		for _, other := range some {
			if len(other.Violations) == 0 && other.Identity() == id {
				return true
			}
		}
	}
	return false
}

// take adds a message to the range. For a message with a withheld value, the range holds only
// the place: the digest of the message would let a reader guess the value.
func (a *assembly) take(e decode.Event) {
	named := e.Message
	if e.Reintroduced || e.Erased != nil {
		named = streamio.PlaceOf(e.Position)
	}
	a.sums.Write(named.Sum())
	a.messages++
	a.bytes += e.Size()
}

// complete looks up the events that may be known, and returns the batch.
func (b *builder) complete(ctx context.Context, a *assembly) (batch, error) {
	b.flights = slices.DeleteFunc(b.flights, flight.over) // before the look-up in the ledger
	began := time.Now()
	known, err := b.known(ctx, a.unsure, max(a.first.StreamSeq, a.again+1))
	if err != nil {
		return batch{}, &steps.Error{Verb: "look up identities", Err: err}
	}
	looked := time.Now()
	for _, e := range a.unsure {
		a.place(e, known)
	}
	b.translog.enter(a.rows, a.leaves)
	a.Range = ledger.Range{
		Incarnation: a.first.Incarnation, First: a.first.StreamSeq, Last: a.last.StreamSeq,
		Messages: a.messages, RecordedAt: a.last.RecordedAt,
	}
	a.sums.Sum(a.Digest[:0])
	a.rows.Range = a.Range
	if !a.grown {
		b.model, b.firsts = a.rows, len(a.firsts)
	}
	a.landed, a.free = make(chan struct{}), b.free
	a.stages = []stage{
		{"fetch", a.fetched, a.began}, {"decode", a.began, a.began.Add(a.decoding)},
		{"look up identities", began, looked}, {"build", looked, time.Now()},
	}
	return a.batch, nil
}

// assemble makes a batch of messages. They are new, or all that is left of a committed range: then again is its
// last sequence, and 0 otherwise. The events of messages that are gone still count by their rows, so that a
// repeat stays a duplicate.
func (b *builder) assemble(ctx context.Context, messages []*streamio.Message, again uint64) (batch, error) {
	a, err := b.begin(ctx, nil)
	if err != nil {
		return batch{}, err
	}
	a.again = again
	for some := range slices.Chunk(messages, partMessages) {
		if err := b.add(ctx, a, some); err != nil {
			return batch{}, err
		}
	}
	return b.complete(ctx, a)
}
