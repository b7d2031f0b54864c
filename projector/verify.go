package projector

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// verify compares the stream with the last commit. The stream must still have the committed
// messages and the next one. verify also deletes the remaining messages with withheld values
// from that range.
func (rc *recovery) verify(ctx context.Context) error {
	next := rc.last.Last + 1
	if rc.source.Info.State.LastSeq < rc.last.Last {
		// A process that was suspended after it opened the stream knows less than its successor committed.
		info, err := rc.source.StillThere(ctx)
		if err != nil {
			return err
		}
		rc.source.Info = info
	}
	switch state := rc.source.Info.State; {
	case rc.last.Last == 0:
		lasting, err := rc.addLasting(ctx)
		if err != nil {
			return err
		}
		next = rc.source.First(max(1, state.FirstSeq))
		if len(lasting) > 0 {
			next = min(next, lasting[0].Position.StreamSeq)
			rc.config.Log.Warn("the ledger begins with the facts that never expire, because a retention has removed the first messages of the stream", "event", "stream_retained", "facts", len(lasting), "first", state.FirstSeq)
		} else if next > 1 {
			rc.config.Log.Warn("the stream has lost its first messages: the ledger begins with the first message that is left", "event", "stream_truncated", "first", next)
		}
		rc.committed.Store(next - 1)
		return nil
	case state.LastSeq < rc.last.Last:
		return fmt.Errorf("%w: it ends at %d, before the last commit at %d", streamio.ErrStreamForked, state.LastSeq, rc.last.Last)
	case state.FirstSeq > next:
		begins, err := rc.beginsWithLasting(ctx)
		if err == nil && !begins {
			err = streamio.Expired(next, state.FirstSeq-1)
		}
		if err != nil {
			return err
		}
	case state.FirstSeq <= rc.last.Last:
		if err := rc.verifyRange(ctx, rc.last); err != nil {
			return err
		}
	}
	rc.committed.Store(rc.last.Last)
	return rc.deleteLeft(ctx, rc.last)
}

// addLasting adds the facts that never expire, and that have left the stream, to its absent messages.
func (rc *recovery) addLasting(ctx context.Context) ([]*streamio.Message, error) {
	state := rc.source.Info.State
	if state.FirstSeq <= 1 {
		return nil, nil
	}
	lasting, err := retention.Lasting(ctx, rc.config.JetStream, &rc.source)
	if err != nil || len(lasting) == 0 {
		return nil, err
	}
	rc.source.Absent = slices.Concat(lasting, rc.source.Absent)
	slices.SortStableFunc(rc.source.Absent, streamio.BySequence)
	rc.retained = state.FirstSeq - 1
	return lasting, nil
}

// beginsWithLasting reports whether all commits are of facts that never expire: a projector began an
// empty ledger with them and was interrupted before the first message of the stream.
func (rc *recovery) beginsWithLasting(ctx context.Context) (bool, error) {
	lasting, err := rc.addLasting(ctx)
	if err != nil {
		return false, err
	}
	left := slices.IndexFunc(lasting, func(m *streamio.Message) bool { return m.Position.StreamSeq > rc.last.Last })
	if left < 0 {
		left = len(lasting)
	}
	for before := uint64(math.MaxUint64); ; {
		commits, err := rc.store.CommitsBefore(ctx, rc.source.Incarnation, before, shortPage)
		if err != nil {
			return false, err
		}
		for _, c := range commits {
			left -= int(c.Messages)
			before = c.First
		}
		if left < 0 || len(commits) < shortPage {
			return left == 0, nil
		}
	}
}

// verifyRange reads a committed range again and compares it.
func (rc *recovery) verifyRange(ctx context.Context, r ledger.Range) error {
	messages, err := rc.source.ReadRange(ctx, r.First, r.Last, r.Messages)
	if err != nil {
		return err
	}
	return rc.compare(ctx, r, messages)
}

// verifyAgain checks, after a reader is open, that the stream is still the one of the recovery.
// A stream that is restored later from an older copy loses its readers, which the projector
// notices. verifyAgain compares the last message of the last commit. If that message was
// deleted, it compares the whole range.
func (rc *recovery) verifyAgain(ctx context.Context) error {
	if rc.last.Last == 0 {
		return nil
	}
	info, err := rc.source.StillThere(ctx)
	if err != nil {
		return err
	}
	if last := info.State.LastSeq; last < rc.last.Last {
		return fmt.Errorf("%w: it ends at %d, before the last commit at %d", streamio.ErrStreamForked, last, rc.last.Last)
	}
	if info.State.FirstSeq > rc.last.Last {
		return nil // the whole commit has left the stream
	}
	messages, err := rc.source.ReadRange(ctx, rc.last.Last, rc.last.Last, 1)
	switch {
	case err != nil:
		return err
	case len(messages) == 0 || messages[0].Erased != nil:
		return rc.verifyRange(ctx, rc.last)
	}
	return rc.compare(ctx, rc.last, messages)
}

// compare returns an error if messages differ from the messages that were committed as r. Some
// of them may have been deleted or have expired since. The others must be unchanged. Before
// compare returns the error, it checks that the ledger still has the commit r. An older copy of
// the ledger does not know which messages are masked in r.
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
	return fmt.Errorf("%w: sequences %d to %d differ from the committed ones", streamio.ErrStreamForked, r.First, r.Last)
}

// mostTried limits the refused messages of a range that are tried both masked and whole. Each of them doubles the
// number of comparisons.
const mostTried = 8

// readsAs reports whether messages read as the range r. The messages at the places in gone are refused for a
// withheld value. Each was masked in r, or it counted in r and is refused since the rows of r were written
// again. If messages do not read as r, it returns those that were not erased since, for a comparison one by one.
func readsAs(r ledger.Range, messages []*streamio.Message, gone []ledger.Position) (left []*streamio.Message, same bool) {
	if placed := streamio.WithPlaces(messages, gone); len(placed) > 0 && streamio.RangeOf(placed).Same(r) {
		return nil, true
	}
	left = slices.DeleteFunc(slices.Clone(messages), func(m *streamio.Message) bool { return m.Erased != nil })
	// Messages that are gone may have been gone when r was committed: commits was restored, and
	// r was committed again.
	left = streamio.WithPlaces(left, slices.DeleteFunc(slices.Clone(gone), func(at ledger.Position) bool { return !holds(left, at) }))
	return left, len(left) == 0 || streamio.RangeOf(left).Same(r) || withSome(r, messages, gone[:min(len(gone), mostTried)])
}

// withSome reports whether messages, which are not empty, are the range r with a subset of these places.
func withSome(r ledger.Range, messages []*streamio.Message, places []ledger.Position) bool {
	if streamio.RangeOf(messages).Same(r) {
		return true
	}
	for i := range places {
		if withSome(r, streamio.WithPlaces(messages, places[i:i+1]), places[i+1:]) {
			return true
		}
	}
	return false
}

// holds reports whether one of the messages has the sequence of a place.
func holds(messages []*streamio.Message, at ledger.Position) bool {
	return slices.ContainsFunc(messages, func(m *streamio.Message) bool { return m.Position.StreamSeq == at.StreamSeq })
}

// contradicts reports whether a row belongs to another message than the stream has in that
// place. Walk back repairs messages without rows.
func contradicts(messages []*streamio.Message, traces map[uint64]ledger.Trace) bool {
	return slices.ContainsFunc(messages, func(m *streamio.Message) bool {
		row, ok := traces[m.Position.StreamSeq]
		return ok && (!row.RecordedAt.Equal(m.Position.RecordedAt) || row.Digest != [32]byte{} && row.Digest != decode.One(m).Digest)
	})
}

// maskedAgain reports whether messages are the range r with masked messages whose rows are
// gone. These messages held a withheld value and were not deleted. Only the redactions tell
// which messages are masked in r.
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
	events := decode.All(messages, nil)
	rc.later.learn(rc.withheld, events[len(events)-1:])
	for i, e := range rc.withheld.Find(events) {
		if e.Reintroduced && rowless(messages[i]) {
			masked[i] = streamio.PlaceOf(e.Position)
		}
	}
	rc.withheld = nil // these values are of an earlier place
	return streamio.RangeOf(masked).Same(r), nil
}
