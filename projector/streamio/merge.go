package streamio

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// merge returns the next message from the server or from the absent messages. If the server
// sends nothing, the next absent message is at the end of the stream.
func (r *Reader) merge(ctx context.Context) (*Message, error) {
	if r.held == nil {
		m, err := r.receive(ctx)
		switch {
		case errors.Is(err, errNoMessage) && len(r.gone) > 0:
			return r.mergeEnd(ctx)
		case err != nil:
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

// mergeEnd returns the first absent message, if no message is in transit from the server.
func (r *Reader) mergeEnd(ctx context.Context) (*Message, error) {
	info, err := r.consumer.Info(context.WithoutCancel(ctx))
	if err != nil || !r.received(info) {
		return nil, errNoMessage
	}
	m := r.gone[0].stood(r.at)
	r.gone = r.gone[1:]
	return m, nil
}

// received reports whether all messages of the server have arrived.
func (r *Reader) received(info *jetstream.ConsumerInfo) bool {
	return info.NumPending == 0 && info.Delivered.Consumer == r.delivered
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
