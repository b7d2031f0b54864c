package streamio

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// merge returns the next message from the server or from the absent messages. If the server
// sends nothing, the next absent message is at the end of the stream.
func (r *Reader) merge(ctx context.Context) (*Message, error) {
	if r.held == nil {
		before := r.last
		m, err := r.receive(ctx)
		switch {
		case errors.Is(err, errNoMessage) && len(r.gone) > 0:
			return r.mergeEnd(ctx)
		case err != nil:
			return nil, err
		}
		if err := r.addLater(context.WithoutCancel(ctx), before, m.Position.StreamSeq); err != nil {
			return nil, err
		}
		r.held = m
	}
	if len(r.gone) == 0 || r.gone[0].Position.StreamSeq > r.held.Position.StreamSeq {
		m := r.held
		r.held = nil
		return m, nil
	}
	m := r.gone[0].stood(r.held.Position.RecordedAt)
	r.gone = r.gone[1:]
	if m.Position.StreamSeq == r.held.Position.StreamSeq {
		// The message was refused or erased, and the deletion failed or is still to come.
		if m.Erased != nil || !m.Position.RecordedAt.Equal(r.held.Position.RecordedAt) {
			m = r.held
		}
		r.held = nil
	}
	return m, nil
}

// addLater adds the messages to gone that were deleted between two sequences since the source was opened.
func (r *Reader) addLater(ctx context.Context, before, next uint64) error {
	missing := next - before - 1
	known, _ := slices.BinarySearchFunc(r.gone, next, func(m *Message, next uint64) int { return cmp.Compare(m.Position.StreamSeq, next) })
	if r.source.Later == nil || missing <= uint64(known) {
		return nil
	}
	later, err := r.source.Later(ctx)
	if err != nil {
		return err
	}
	later = slices.DeleteFunc(later, func(m *Message) bool {
		at := m.Position.StreamSeq
		return at <= before || at >= next || slices.ContainsFunc(r.gone[:known], func(g *Message) bool { return g.Position.StreamSeq == at })
	})
	for _, m := range later {
		m.Rules = r.source.Rules.At(m.Position.StreamSeq)
	}
	r.gone = slices.Concat(later, r.gone)
	slices.SortStableFunc(r.gone[:len(later)+known], BySequence)
	return nil
}

// mergeEnd returns the first absent message, if no message is in transit from the server.
func (r *Reader) mergeEnd(ctx context.Context) (*Message, error) {
	if received, err := r.received(context.WithoutCancel(ctx)); err != nil || !received {
		return nil, errNoMessage
	}
	m := r.gone[0].stood(r.at)
	r.gone = r.gone[1:]
	return m, nil
}

func BySequence(a, b *Message) int { return cmp.Compare(a.Position.StreamSeq, b.Position.StreamSeq) }

// stood returns an erased message with a time for its place. The time is that of a neighbouring
// message, whose month the transparency log also has.
func (m *Message) stood(at time.Time) *Message {
	if m.Erased == nil || at.IsZero() {
		return m
	}
	other := *m
	other.Position.RecordedAt = at
	return &other
}
