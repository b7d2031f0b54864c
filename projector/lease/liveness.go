package lease

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// answer subscribes the holder to a subject of its own. Without a connection there is no subject.
func (l *Lease) answer(ctx context.Context) (subject string) {
	if l.Conn == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timing.Heartbeat)
	defer cancel()
	sub, err := l.Conn.Subscribe(l.Conn.NewInbox(), func(m *nats.Msg) { _ = m.Respond(nil) })
	if err == nil {
		l.answers = sub
		err = l.Conn.FlushWithContext(ctx) // the server knows the subject before an observer does
	}
	if err != nil {
		l.silence()
		l.Failed("answer observers of the lease", err)
		return ""
	}
	return sub.Subject
}

// silence ends the answers.
func (l *Lease) silence() {
	if l.answers != nil {
		_ = l.answers.Unsubscribe() // a closed connection has no subscriptions
		l.answers = nil
	}
}

// mostSilent is the number of questions in a row without a subscriber after which a holder is gone.
const mostSilent = 3

// observer asks a holder whether it is connected.
type observer struct {
	claim      Claim
	holder     string // the one that was asked; empty if the present one does not answer
	silent     int    // questions in a row that had no subscriber
	reconnects uint64
	connected  time.Time // the observer's own connection, at the latest
}

func newObserver(c Claim) *observer {
	o := &observer{claim: c, connected: time.Now()}
	if c.Conn != nil {
		o.reconnects = c.Conn.Stats().Reconnects
	}
	return o
}

// gone asks the holder of an entry, and reports whether its connection is gone. After a connection of its own,
// an observer believes this only after a heartbeat: when a server returns, the holder connects again, too.
func (o *observer) gone(ctx context.Context, entry Entry) bool {
	c := o.claim
	if c.Conn == nil || entry.Owner == "" || entry.Answers == "" {
		o.holder, o.silent = "", 0
		return false
	}
	if n := c.Conn.Stats().Reconnects; n != o.reconnects {
		o.reconnects, o.connected = n, time.Now()
	}
	if entry.Holder != o.holder {
		o.holder, o.silent = entry.Holder, 0
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timing.Poll)
	defer cancel()
	_, err := c.Conn.RequestWithContext(ctx, entry.Answers, nil)
	if !errors.Is(err, nats.ErrNoResponders) || time.Since(o.connected) < c.Timing.Heartbeat {
		o.silent = 0
		return false
	}
	o.silent++
	return o.silent >= mostSilent
}

// pause is the wait until the entry is read again.
func (o *observer) pause() time.Duration {
	switch poll := o.claim.Timing.Poll; {
	case o.silent > 0:
		return poll / 8
	case o.holder != "":
		return poll / 2
	default:
		return poll
	}
}
