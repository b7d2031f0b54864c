package projector

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// settle ends what an earlier holder of the lease had begun. A range at or
// below the last commit is done. The one right above it, if the stream still
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
	defer func() { rc.translog.log = nil }() // what is not settled is not in it
	if pending.Incarnation != rc.source.Incarnation {
		return rc.settleFormer(ctx, *pending)
	}
	if pending.First <= rc.last.Last {
		return nil
	}
	messages, err := rc.source.ReadRange(ctx, rc.committed.Load()+1, pending.Last, pending.Messages)
	if err != nil || len(messages) > 0 && messages[0].Position.StreamSeq < pending.First {
		return err
	}
	removed, err := rc.removedFrom(ctx, *pending, messages)
	if err != nil {
		return err
	}
	b, same, err := rc.derive(ctx, *pending, messages, removed)
	switch {
	case err != nil:
		return err
	case same:
		return rc.settleSame(ctx, b, *pending)
	}
	return rc.discard(ctx, *pending, removed)
}

// settleFormer ends what was begun for a stream in whose place this one is.
func (rc *recovery) settleFormer(ctx context.Context, pending ledger.Range) error {
	last, _, err := rc.store.LastCommit(ctx, pending.Incarnation)
	if err != nil || pending.First != last.Last+1 {
		return err
	}
	return rc.discard(ctx, pending, nil)
}

// derive makes the batch of a journalled range again, and reports whether it is the same:
// as the messages are, or with those removed and masked that hold a withheld value.
func (rc *recovery) derive(ctx context.Context, pending ledger.Range, messages []*streamio.Message, removed []ledger.Position) (b batch, same bool, err error) {
	if len(messages)+len(removed) == 0 {
		return b, false, nil
	}
	if b, err = rc.assemble(ctx, messages); err != nil || b.Same(pending) {
		return b, err == nil, err
	}
	same = streamio.RangeOf(streamio.WithPlaces(messages, append(reintroduced(b.quarantined), removed...))).Same(pending)
	if same {
		b.Range, b.rows.Range = pending, pending
	}
	return b, same, nil
}

// discard removes what was written of a journalled range, but for the rows of the
// messages that were removed.
func (rc *recovery) discard(ctx context.Context, pending ledger.Range, removed []ledger.Position) error {
	rc.config.Log.Warn("removing what was written of a journalled range that the stream no longer holds",
		"event", "journal_discarded", "incarnation", pending.Incarnation, "first", pending.First, "last", pending.Last)
	if err := rc.walk(ctx, []steps.Step{rc.checkStep()}); err != nil {
		return err
	}
	if err := rc.store.KillInserts(ctx, pending.Incarnation); err != nil {
		return err
	}
	refused := make([]uint64, len(removed))
	for i, at := range removed {
		refused[i] = at.StreamSeq
	}
	if err := rc.store.Discard(ctx, pending, refused); err != nil {
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
		return at.StreamSeq > rc.source.Info.State.LastSeq || holds(messages, at)
	}), err
}

// settleSame finishes a journalled range under the tokens of who journalled it.
func (rc *recovery) settleSame(ctx context.Context, b batch, pending ledger.Range) error {
	rc.config.Log.Info("finishing a journalled range", "first", pending.First, "last", pending.Last)
	b.rows.Epoch = pending.Epoch
	rc.doubtful = max(rc.doubtful, pending.Last)
	return rc.finish(ctx, rc.depart(b), []steps.Step{rc.checkStep()})
}
