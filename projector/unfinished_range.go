package projector

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// settle finishes or undoes the work that an earlier holder of the lease has begun. A range at
// or below the last commit is finished. A range right above the last commit is finished with
// the same cut and tokens if the stream still holds it. If not, its rows are removed, because
// no stream will have these messages again. Messages that a projector deleted for a withheld
// value count as present: the range was committed, and commits is an older copy.
//
// A range further above means that commits is older than the journal. The rows of that range
// stay, and the projector reaches the range in order.
func (rc *recovery) settle(ctx context.Context) error {
	pending := rc.lease.Pending()
	if pending == nil {
		return nil
	}
	defer func() { rc.translog.log = nil }() // an unsettled range is not in the transparency log
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

// settleFormer undoes unfinished work for a stream that this stream has replaced.
func (rc *recovery) settleFormer(ctx context.Context, pending ledger.Range) error {
	last, _, err := rc.store.LastCommit(ctx, pending.Incarnation)
	if err != nil || pending.First != last.Last+1 {
		return err
	}
	return rc.discard(ctx, pending, nil)
}

// derive makes the batch of a journalled range again, and reports whether the range is the
// same. derive compares twice. The second comparison has places instead of removed messages,
// and instead of messages with a withheld value.
func (rc *recovery) derive(ctx context.Context, pending ledger.Range, messages []*streamio.Message, removed []ledger.Position) (b batch, same bool, err error) {
	if len(messages)+len(removed) == 0 {
		return b, false, nil
	}
	if b, err = rc.assemble(ctx, messages, 0); err != nil || b.Same(pending) {
		return b, err == nil, err
	}
	same = streamio.RangeOf(streamio.WithPlaces(messages, append(reintroduced(b.quarantined), removed...))).Same(pending)
	if same {
		b.Range, b.rows.Range = pending, pending
	}
	return b, same, nil
}

// discard removes the rows of a journalled range, except the rows of the messages in removed.
func (rc *recovery) discard(ctx context.Context, pending ledger.Range, removed []ledger.Position) error {
	rc.config.Log.Warn("removing the rows of a journalled range that the stream no longer holds",
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
	return rc.loadWithheld(ctx) // the removed rows may include redactions
}

// removedFrom returns the places of messages that a projector deleted from the range r for a
// withheld value. The rows of these messages in quarantine are all that is left of them.
// messages are the messages that the stream still has. A place beyond the stream's end, or with
// another message, is left out: the stream is an older copy.
func (rc *recovery) removedFrom(ctx context.Context, r ledger.Range, messages []*streamio.Message) ([]ledger.Position, error) {
	list, err := rc.reintroducedIn(ctx, r)
	return slices.DeleteFunc(list, func(at ledger.Position) bool {
		return at.StreamSeq > rc.source.Info.State.LastSeq || holds(messages, at)
	}), err
}

// settleSame finishes a journalled range under the tokens of the holder that journalled it.
func (rc *recovery) settleSame(ctx context.Context, b batch, pending ledger.Range) error {
	rc.config.Log.Info("finishing a journalled range", "first", pending.First, "last", pending.Last)
	b.rows.Epoch = pending.Epoch
	rc.doubtful = max(rc.doubtful, pending.Last)
	return rc.finish(ctx, rc.depart(b), []steps.Step{rc.checkStep()})
}
