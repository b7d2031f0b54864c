package projector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A recovery brings ledger and stream to agreement, before batches are built and written.
type recovery struct {
	*shared
	*builder
	*writer
}

// open opens the stream anew, with all that is known of it.
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
		return fmt.Errorf("read the ring of the ledger: %w", err)
	}
	var gone []*streamio.Message
	if rc.rebuild != nil {
		gone = rc.rebuild.gone
	}
	return erasure.ReadAbsent(ctx, rc.config.JetStream, &rc.source, gone, rc.live(), rc.config.Log)
}

// kill ends the inserts of earlier holders, and finds the checkpoint, which none
// of them can move any more.
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
	rc.last, rc.offered, rc.looked = last, ledger.Range{}, time.Now()
	return nil
}

// verify holds the stream against the last commit: it must still have what was
// committed, and what comes next. Messages with withheld values that were not
// yet deleted from that range are.
func (rc *recovery) verify(ctx context.Context) error {
	next := rc.last.Last + 1
	switch state := rc.source.Info.State; {
	case rc.last.Last == 0:
		if next = rc.source.First(max(1, state.FirstSeq)); next > 1 {
			rc.config.Log.Warn("the ledger begins with the first message that the stream still has", "event", "stream_truncated", "first", next)
		}
		rc.committed.Store(next - 1)
		return nil
	case state.LastSeq < rc.last.Last:
		return fmt.Errorf("%w: it ends at %d, below the checkpoint %d", streamio.ErrStreamForked, state.LastSeq, rc.last.Last)
	case state.FirstSeq > next:
		return streamio.Expired(next, state.FirstSeq-1)
	case state.FirstSeq <= rc.last.Last:
		if err := rc.verifyRange(ctx, rc.last); err != nil {
			return err
		}
	}
	rc.committed.Store(rc.last.Last)
	return rc.removeLeft(ctx, rc.last)
}

// verifyRange reads a committed range again.
func (rc *recovery) verifyRange(ctx context.Context, r ledger.Range) error {
	messages, err := rc.source.ReadRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	return rc.compare(ctx, r, messages)
}

// verifyAgain makes sure that the stream is still the one that was recovered from,
// once there is a reader: one that is restored from an older copy forgets its
// readers, so from here on that is noticed. The last message of the last commit
// tells, and the whole range where that message was deleted.
func (rc *recovery) verifyAgain(ctx context.Context) error {
	if rc.last.Last == 0 {
		return nil
	}
	info, err := rc.source.StillThere(ctx)
	if err != nil {
		return err
	}
	if last := info.State.LastSeq; last < rc.last.Last {
		return fmt.Errorf("%w: it ends at %d, below the checkpoint %d", streamio.ErrStreamForked, last, rc.last.Last)
	}
	messages, err := rc.source.ReadRange(ctx, rc.last.Last, rc.last.Last, 1)
	switch {
	case err != nil:
		return err
	case (len(messages) == 0 || messages[0].Erased != nil) && info.State.FirstSeq <= rc.last.Last:
		return rc.verifyRange(ctx, rc.last)
	}
	return rc.compare(ctx, rc.last, messages)
}

// compare says whether messages are what was committed as r. Some may have been
// deleted since, or have expired; the others must be what they were. Before it says
// no, it looks whether the ledger is still the one whose commit r is: an older copy
// that took its place does not know which messages are masked in r.
func (rc *recovery) compare(ctx context.Context, r ledger.Range, messages []*streamio.Message) error {
	gone, err := rc.reintroducedIn(ctx, r)
	if err != nil {
		return err
	}
	if placed := streamio.WithPlaces(messages, gone); len(placed) > 0 && streamio.RangeOf(placed).Same(r) {
		return nil
	}
	// What was erased since was a message then, and is of no more use here.
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *streamio.Message) bool { return m.Erased != nil })
	if len(messages) == 0 {
		return nil
	}
	// Those that are gone may have been so when r was committed, once more because
	// commits was restored.
	messages = streamio.WithPlaces(messages, slices.DeleteFunc(gone, func(at ledger.Position) bool {
		return !slices.ContainsFunc(messages, func(m *streamio.Message) bool { return m.Position.StreamSeq == at.StreamSeq })
	}))
	if len(messages) > 0 && streamio.RangeOf(messages).Same(r) {
		return nil
	}
	traces, err := rc.store.Traces(ctx, r)
	if err != nil {
		return err
	}
	if uint64(len(messages)) >= r.Messages {
		if masked, err := rc.maskedAgain(ctx, r, messages, traces); err != nil || masked {
			return err
		}
		return rc.forked(ctx, r)
	}
	for _, m := range messages {
		held, ok := traces[m.Position.StreamSeq]
		switch {
		case !ok: // a table lacks it, which is for walk back to mend
		case !held.RecordedAt.Equal(m.Position.RecordedAt), held.Digest != [32]byte{} && held.Digest != decode.One(m).Digest:
			return rc.forked(ctx, r)
		}
	}
	return nil
}

// maskedAgain reports whether messages are what was committed as r, after all, where
// the rows are gone of some that held a withheld value and that nobody has deleted:
// then only the redactions say which of them are masked in r.
func (rc *recovery) maskedAgain(ctx context.Context, r ledger.Range, messages []*streamio.Message, traces map[uint64]ledger.Trace) (bool, error) {
	rowless := func(m *streamio.Message) bool { return traces[m.Position.StreamSeq] == ledger.Trace{} }
	if !slices.ContainsFunc(messages, rowless) {
		return false, nil
	}
	rc.committed.Store(r.First - 1)
	if err := rc.loadWithheld(ctx); err != nil {
		return false, err
	}
	masked := slices.Clone(messages)
	for i, m := range rc.withheld.Find(decode.All(messages, nil)) {
		if m.Reintroduced && rowless(messages[i]) {
			masked[i] = streamio.PlaceOf(m.Position)
		}
	}
	rc.withheld = nil // it is of an earlier place
	return streamio.RangeOf(masked).Same(r), nil
}

// forked is what compare says of a range that reads differently.
func (rc *recovery) forked(ctx context.Context, r ledger.Range) error {
	if err := rc.stands(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: sequences %d to %d read differently now", streamio.ErrStreamForked, r.First, r.Last)
}

// load reads what events are held against, as of the checkpoint, unless this holder
// knows it: an hour of failures must not be an hour of reading every identity.
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
		// Where all tables are older copies they do not hold it, and the server may
		// still know the tokens.
		rc.doubtful = max(held, rc.journalled.Last)
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
// up to the checkpoint and no others, or a message in front of its redaction would
// be refused.
func (b *builder) forget() { b.seen, b.withheld = nil, nil }

// settle ends what an earlier holder of the lease had begun. A range at or
// below the checkpoint is done. The one right above it, if the stream still
// holds it, is finished with the same cut and tokens; if not, what was written
// of it is removed, because no stream will bring these messages again. What is gone
// because a projector has deleted it for its value counts as held: the range was
// committed, and commits is an older copy.
//
// A range further above means that commits is older than the journal. Then its
// rows are not touched: the stream comes to them in their turn.
func (rc *recovery) settle(ctx context.Context) error {
	pending := rc.lease.Pending()
	if pending == nil {
		return nil
	}
	var removed []ledger.Position
	defer func() { rc.translog.log = nil }() // what is not settled is not in it
	if pending.Incarnation == rc.source.Incarnation {
		if pending.First <= rc.last.Last {
			return nil
		}
		messages, err := rc.source.ReadRange(ctx, rc.committed.Load()+1, pending.Last, pending.Messages)
		if err != nil {
			return err
		}
		if len(messages) > 0 && messages[0].Position.StreamSeq < pending.First {
			return nil
		}
		if removed, err = rc.removedFrom(ctx, *pending, messages); err != nil {
			return err
		}
		if len(messages)+len(removed) > 0 {
			b, err := rc.assemble(ctx, messages)
			switch {
			case err != nil:
				return err
			case b.Same(*pending):
				return rc.settleSame(ctx, b, *pending)
			case streamio.RangeOf(streamio.WithPlaces(messages, append(reintroduced(b.refused), removed...))).Same(*pending):
				b.Range, b.batch.Range = *pending, *pending
				return rc.settleSame(ctx, b, *pending)
			}
		}
	} else {
		last, _, err := rc.store.LastCommit(ctx, pending.Incarnation)
		if err != nil {
			return err
		}
		if pending.First != last.Last+1 {
			return nil
		}
	}
	rc.config.Log.Warn("removing what was written of a journalled range that the stream no longer holds",
		"event", "journal_discarded", "incarnation", pending.Incarnation, "first", pending.First, "last", pending.Last)
	if err := rc.walk(ctx, []steps.Step{rc.look()}); err != nil {
		return err
	}
	if err := rc.store.KillInserts(ctx, pending.Incarnation); err != nil {
		return err
	}
	refused := make([]uint64, len(removed))
	for i, at := range removed {
		refused[i] = at.StreamSeq
	}
	if err := rc.store.Discard(ctx, *pending, refused); err != nil {
		return err
	}
	return rc.loadWithheld(ctx) // what was removed may have been redactions
}

// removedFrom returns where the messages stood that a projector has deleted for a
// withheld value from a range of which the stream still has these. Their rows in
// quarantine are all that is left of them. A place that is beyond the stream's end or
// has another message was never theirs in this stream: it is an older copy.
func (rc *recovery) removedFrom(ctx context.Context, r ledger.Range, messages []*streamio.Message) ([]ledger.Position, error) {
	list, err := rc.reintroducedIn(ctx, r)
	return slices.DeleteFunc(list, func(at ledger.Position) bool {
		return at.StreamSeq > rc.source.Info.State.LastSeq || slices.ContainsFunc(messages, func(m *streamio.Message) bool { return m.Position.StreamSeq == at.StreamSeq })
	}), err
}

// settleSame finishes a journalled range under the tokens of who journalled it.
func (rc *recovery) settleSame(ctx context.Context, b built, pending ledger.Range) error {
	rc.config.Log.Info("finishing a journalled range", "first", pending.First, "last", pending.Last)
	b.batch.Epoch = pending.Epoch
	rc.doubtful = max(rc.doubtful, pending.Last)
	return rc.finish(ctx, rc.depart(b), []steps.Step{rc.look()})
}
