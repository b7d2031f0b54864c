package projector

import (
	"context"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

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
	return rc.deleteLeft(ctx, rc.last)
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
	left, same := readsAs(r, messages, gone)
	if same {
		return nil
	}
	traces, err := rc.store.Traces(ctx, r)
	if err != nil {
		return err
	}
	if uint64(len(left)) >= r.Messages {
		if same, err = rc.maskedAgain(ctx, r, left, traces); err != nil || same {
			return err
		}
	} else if !contradicts(left, traces) {
		return nil
	}
	if err := rc.checkLastCommit(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: sequences %d to %d read differently now", streamio.ErrStreamForked, r.First, r.Last)
}

// readsAs reports whether messages read as the range r, of which those at the places in
// gone were masked. What it returns is left to be compared one by one where they do not:
// the messages that were not erased since.
func readsAs(r ledger.Range, messages []*streamio.Message, gone []ledger.Position) (left []*streamio.Message, same bool) {
	if placed := streamio.WithPlaces(messages, gone); len(placed) > 0 && streamio.RangeOf(placed).Same(r) {
		return nil, true
	}
	left = slices.DeleteFunc(slices.Clone(messages), func(m *streamio.Message) bool { return m.Erased != nil })
	// Those that are gone may have been so when r was committed, once more because
	// commits was restored.
	left = streamio.WithPlaces(left, slices.DeleteFunc(gone, func(at ledger.Position) bool { return !holds(left, at) }))
	return left, len(left) == 0 || streamio.RangeOf(left).Same(r)
}

// holds reports whether one of the messages has the sequence of a place.
func holds(messages []*streamio.Message, at ledger.Position) bool {
	return slices.ContainsFunc(messages, func(m *streamio.Message) bool { return m.Position.StreamSeq == at.StreamSeq })
}

// contradicts reports whether a row is of another message than the stream has in its
// place. A message without a row is for walk back to mend.
func contradicts(messages []*streamio.Message, traces map[uint64]ledger.Trace) bool {
	return slices.ContainsFunc(messages, func(m *streamio.Message) bool {
		row, ok := traces[m.Position.StreamSeq]
		return ok && (!row.RecordedAt.Equal(m.Position.RecordedAt) || row.Digest != [32]byte{} && row.Digest != decode.One(m).Digest)
	})
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
	for i, e := range rc.withheld.Find(decode.All(messages, nil)) {
		if e.Reintroduced && rowless(messages[i]) {
			masked[i] = streamio.PlaceOf(e.Position)
		}
	}
	rc.withheld = nil // it is of an earlier place
	return streamio.RangeOf(masked).Same(r), nil
}
